//! The names of points and dialects.

use dsh_hooks::{Dialect, Point};

// spec: timeout-jobs-hooks/J62
#[test]
fn a_name_is_one_in_code_in_json_and_back() {
    for point in Point::ALL {
        assert_eq!(Point::named(point.as_str()), Some(point));
        assert_eq!(serde_json::to_string(&point).unwrap(), format!("\"{point}\""));
    }
    assert_eq!(Point::named("Notification"), None);
    for dialect in Dialect::ALL {
        assert_eq!(Dialect::named(dialect.as_str()), Some(dialect));
        assert_eq!(serde_json::to_string(&dialect).unwrap(), format!("\"{dialect}\""));
    }
}
