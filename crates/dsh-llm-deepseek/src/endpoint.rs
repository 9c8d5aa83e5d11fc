//! Where requests go.

use std::fmt;

use reqwest::Url;
use thiserror::Error;

/// The variable that names the base URL where the configuration does not.
pub(crate) const BASE_URL_ENV: &str = "DEEPSEEK_BASE_URL";
/// The base URL where nobody names one.
const DEFAULT_BASE_URL: &str = "https://api.deepseek.com";
/// What is asked below the base.
const PATH: &str = "/chat/completions";

/// The URL of the chat completions below a base URL. It prints without its query, which may hold a secret.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    url: Url,
}

/// A base URL that nothing can be asked below. The URL is not shown: a password may be in it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// It is no URL.
    #[error("{named_by} is no URL: write it as {DEFAULT_BASE_URL} or http://localhost:8080/v1")]
    NotAUrl {
        /// The setting or variable that names it.
        named_by: &'static str,
    },
    /// It has another scheme than `http` and `https`, or no host.
    #[error("{named_by} must begin with http:// or https:// and name a host")]
    Scheme {
        /// The setting or variable that names it.
        named_by: &'static str,
    },
    /// It has a user or a password in it.
    #[error(
        "{named_by} has a user name or a password in it, which would be seen in logs: take it out, the key comes from its own variable"
    )]
    UserInfo {
        /// The setting or variable that names it.
        named_by: &'static str,
    },
}

impl Endpoint {
    /// Below the base URL of the configuration, else of the environment, else of DeepSeek. Blanks around a base are dropped,
    /// an empty one counts as none.
    pub(crate) fn resolve(configured: Option<&str>, ambient: Option<&str>) -> Result<Self, EndpointError> {
        let given =
            |text: Option<&str>| text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        if let Some(base) = given(configured) {
            return Self::below(&base, "baseURL");
        }
        match given(ambient) {
            Some(base) => Self::below(&base, BASE_URL_ENV),
            None => Self::below(DEFAULT_BASE_URL, BASE_URL_ENV),
        }
    }

    /// The path is added to that of the base; a query stays where it is.
    fn below(base: &str, named_by: &'static str) -> Result<Self, EndpointError> {
        let mut url = Url::parse(base).map_err(|_| EndpointError::NotAUrl { named_by })?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(EndpointError::Scheme { named_by });
        }
        if has_user_info(&url) {
            return Err(EndpointError::UserInfo { named_by });
        }
        let path = url.path();
        let path = format!("{}{PATH}", path.strip_suffix('/').unwrap_or(path));
        url.set_path(&path);
        url.set_fragment(None);
        Ok(Self { url })
    }

    /// Where a redirect from here leads; none if nothing may be sent there.
    pub(crate) fn redirected(&self, location: &str) -> Option<Self> {
        let url = self.url.join(location).ok()?;
        let is_downgrade = self.url.scheme() == "https" && url.scheme() != "https";
        let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
        (is_web && !is_downgrade && !has_user_info(&url)).then_some(Self { url })
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Whether the key of one may be told the other.
    pub(crate) fn is_same_origin(&self, other: &Self) -> bool {
        self.url.origin() == other.url.origin()
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.url))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
}

/// A URL without what may be secret in it.
pub(crate) fn shown(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

pub(crate) fn has_user_info(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(configured: Option<&str>, ambient: Option<&str>) -> String {
        Endpoint::resolve(configured, ambient).unwrap().url.to_string()
    }

    // spec: llm/S47, llm/S52
    #[test]
    fn the_configured_base_is_taken_before_the_one_of_the_environment_and_that_before_deepseeks() {
        let (one, two) = ("http://one/v1", "http://two/v1");
        assert_eq!(resolved(Some(one), Some(two)), "http://one/v1/chat/completions");
        assert_eq!(resolved(None, Some(two)), "http://two/v1/chat/completions");
        assert_eq!(resolved(None, None), "https://api.deepseek.com/chat/completions");
    }

    #[test]
    fn a_base_is_joined_whatever_is_around_it() {
        for (base, url) in [
            ("http://h:1", "http://h:1/chat/completions"),
            ("http://h:1/", "http://h:1/chat/completions"),
            ("http://h:1/v1/", "http://h:1/v1/chat/completions"),
            ("  http://h:1/v1 \n", "http://h:1/v1/chat/completions"),
            ("http://h:1/v1?version=2", "http://h:1/v1/chat/completions?version=2"),
            ("http://h:1/v1#part", "http://h:1/v1/chat/completions"),
            ("http://h:1/v1/chat/completions", "http://h:1/v1/chat/completions/chat/completions"),
        ] {
            assert_eq!(resolved(None, Some(base)), url, "{base:?}");
        }
        assert_eq!(resolved(Some(""), Some("http://two")), "http://two/chat/completions");
        assert_eq!(resolved(Some(" "), Some("  ")), "https://api.deepseek.com/chat/completions");
    }

    #[test]
    fn a_base_that_cannot_be_asked_is_refused_without_being_shown() {
        for base in
            ["http://u:hunter2@h/v1", "h/v1?hunter2", "localhost:80/hunter2", "ftp://h/hunter2", "http://"]
        {
            let error = Endpoint::resolve(None, Some(base)).unwrap_err().to_string();
            assert!(error.starts_with(BASE_URL_ENV), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
        let error = Endpoint::resolve(Some("http://u@h"), None).unwrap_err();
        assert_eq!(error, EndpointError::UserInfo { named_by: "baseURL" });
    }

    #[test]
    fn what_is_printed_has_no_query() {
        let endpoint = Endpoint::resolve(Some("http://h:1/v1?key=hunter2"), None).unwrap();
        assert_eq!(format!("{endpoint} {endpoint:?}").matches("hunter2").count(), 0);
        assert_eq!(endpoint.to_string(), "http://h:1/v1/chat/completions");
    }

    #[test]
    fn a_redirect_leads_neither_out_of_tls_nor_to_what_is_no_web_server() {
        let endpoint = Endpoint::resolve(Some("https://h/v1"), None).unwrap();
        let to = |location: &str| endpoint.redirected(location).map(|to| to.url.to_string());
        assert_eq!(to("/v2/x").as_deref(), Some("https://h/v2/x"));
        assert_eq!(to("https://other/x").as_deref(), Some("https://other/x"));
        for location in ["http://h/v1", "ftp://h/x", "https://u:p@h/x", "https://"] {
            assert_eq!(to(location), None, "{location}");
        }
        assert!(endpoint.is_same_origin(&endpoint.redirected("/x").unwrap()));
        assert!(!endpoint.is_same_origin(&endpoint.redirected("https://h:444/v1").unwrap()));
    }
}
