//! What a JSON number is: the one answer that the check, the validator and the readers share.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// A number by its value, however it is written: `5`, `5.0` and `5e0` are one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Numeric {
    /// Integral, and small enough to be kept exactly.
    Whole(i128),
    /// Any other finite number.
    Real(f64),
}

impl Numeric {
    /// `None` for `-0` and for what no float comes near.
    pub(crate) fn of(number: &Number) -> Option<Self> {
        let text = number.as_str();
        if let Some(whole) = short_whole(text) {
            return Some(whole);
        }
        if !text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
            && text != "-0"
            && let Ok(whole) = text.parse::<i128>()
        {
            return Some(Self::Whole(whole));
        }
        let real = text.parse::<f64>().ok()?;
        if !real.is_finite() || (real == 0.0 && real.is_sign_negative()) {
            return None;
        }
        // Below 2^100 an integral float converts to i128 without change.
        if real.fract() == 0.0 && real.abs() < 2_f64.powi(100) {
            #[allow(clippy::cast_possible_truncation, reason = "integral and in range")]
            return Some(Self::Whole(real as i128));
        }
        Some(Self::Real(real))
    }

    /// Whether the number has no fraction.
    pub(crate) fn is_integer(self) -> bool {
        match self {
            Self::Whole(_) => true,
            Self::Real(real) => real.fract() == 0.0,
        }
    }
}

/// Up to 18 digits, which most numbers are and which need no check for overflow.
fn short_whole(text: &str) -> Option<Numeric> {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    if digits.is_empty() || digits.len() > 18 || text == "-0" {
        return None;
    }
    let mut sum = 0_i64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        sum = sum * 10 + i64::from(digit - b'0');
    }
    Some(Numeric::Whole(i128::from(if digits.len() < text.len() { -sum } else { sum })))
}

/// Whether 64 bits, as an integer or as a float, hold the written number without change; `-0` is none.
pub(crate) fn is_exact(text: &str) -> bool {
    if short_whole(text).is_some() {
        return true;
    }
    if !text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
        return text != "-0" && (text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok());
    }
    let Ok(real) = text.parse::<f64>() else { return false };
    if !real.is_finite() || (real == 0.0 && real.is_sign_negative()) {
        return false;
    }
    let Some(written) = Decimal::of(text) else { return false };
    // 15 digits always survive the way through a float that is not subnormal.
    let safe = written.digits.clone().count() <= 15 && (-290..290).contains(&written.exponent);
    let keeps = |text: &str| Decimal::of(text).is_some_and(|kept| written.same(&kept));
    // Of two shortest texts of one float that are equally near, such as `1956412737232873.2` and `….3`, each is kept.
    safe || keeps(&format!("{real:e}")) || keeps(ryu_js::Buffer::new().format_finite(real))
}

/// The number as JavaScript writes it, so that `2.50` is `2.5` and `1e21` is `1e+21`.
pub(crate) fn text(number: &Number) -> String {
    let text = number.as_str();
    if !text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
        return text.to_owned();
    }
    match text.parse::<f64>() {
        Ok(real) if real.is_finite() => ryu_js::Buffer::new().format_finite(real).to_owned(),
        _ => text.to_owned(),
    }
}

/// A scalar as it is written in a list of choices.
pub(crate) fn scalar_text(value: &Value) -> String {
    match value {
        Value::Number(number) => text(number),
        other => other.to_string(),
    }
}

/// A decimal number without the freedom of writing it: `0.digits * 10^exponent`.
struct Decimal<I> {
    digits: I,
    exponent: i64,
}

impl Decimal<()> {
    /// `None` if the exponent does not fit, which no number that can be kept has.
    fn of(text: &str) -> Option<Decimal<impl Iterator<Item = u8> + Clone + '_>> {
        let text = text.strip_prefix('-').unwrap_or(text);
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = whole.bytes().chain(fraction.bytes());
        let length = whole.len() + fraction.len();
        let leading = digits.clone().take_while(|digit| *digit == b'0').count();
        let trailing = digits.clone().rev().take_while(|digit| *digit == b'0').count();
        let zero = leading == length;
        let exponent = if zero {
            0
        } else {
            let point = i64::try_from(whole.len()).ok()? - i64::try_from(leading).ok()?;
            exponent.parse::<i64>().ok()?.checked_add(point)?
        };
        let kept = if zero { 0 } else { length - leading - trailing };
        Some(Decimal { digits: digits.skip(leading).take(kept), exponent })
    }
}

impl<I: Iterator<Item = u8> + Clone> Decimal<I> {
    fn same(&self, other: &Decimal<impl Iterator<Item = u8> + Clone>) -> bool {
        self.exponent == other.exponent && self.digits.clone().cmp(other.digits.clone()) == Ordering::Equal
    }
}
