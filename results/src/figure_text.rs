//! Figures in words: how numbers stand in reports.

/// A latency in microseconds with three significant digits: `850 µs`, `1.23 ms`, `12.3 s`.
pub fn latency(micros: f64) -> String {
    let (value, unit) = if micros < 1_000.0 {
        (micros, "µs")
    } else if micros < 1_000_000.0 {
        (micros / 1_000.0, "ms")
    } else {
        (micros / 1_000_000.0, "s")
    };
    format!("{} {unit}", three_digits(value))
}

/// A latency, or a dash where there are not enough samples.
pub fn latency_or_dash(micros: Option<f64>) -> String {
    micros.map_or_else(dash, latency)
}

/// A rate per second without fractions where they say nothing: `12,345`, `3.2`.
pub fn rate(per_second: f64) -> String {
    if per_second < 100.0 { three_digits(per_second) } else { thousands(per_second) }
}

/// A share of 1 as percent with three significant digits.
pub fn percent(share: f64) -> String {
    format!("{} %", three_digits(share * 100.0))
}

/// A count with separators: `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// What stands where nothing was measured.
pub fn dash() -> String {
    "–".to_owned()
}

fn thousands(value: f64) -> String {
    if !value.is_finite() || value >= 1e15 {
        return format!("{value:.3e}");
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 1e15")]
    let whole = value.max(0.0).round() as u64;
    count(whole)
}

fn three_digits(value: f64) -> String {
    let size = value.abs();
    if size >= 100.0 {
        thousands(value)
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else if size >= 0.01 || size == 0.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.1e}")
    }
}

#[cfg(test)]
mod tests {
    use super::{count, latency, percent, rate};

    #[test]
    fn figures_keep_three_digits() {
        assert_eq!(latency(850.4), "850 µs");
        assert_eq!(latency(1_234.0), "1.23 ms");
        assert_eq!(latency(12_345_678.0), "12.3 s");
        assert_eq!(rate(12_345.4), "12,345");
        assert_eq!(percent(0.000_24), "0.02 %");
        assert_eq!(count(1_234_567), "1,234,567");
    }

    #[test]
    fn figures_that_are_none_do_not_panic() {
        for value in [f64::NAN, f64::INFINITY, -1.0, f64::MAX] {
            let _ = (latency(value), rate(value), percent(value));
        }
    }
}
