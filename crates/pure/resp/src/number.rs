// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Numbers as text.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

/// A decimal number without a plus sign, blanks or leading zeros, as Redis takes them.
pub fn integer(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let magnitude = unsigned(digits)?;
    if is_negative {
        0_i64.checked_sub_unsigned(magnitude).filter(|number| *number != 0)
    } else {
        i64::try_from(magnitude).ok()
    }
}

/// The same, not negative.
pub fn unsigned(digits: &[u8]) -> Option<u64> {
    let starts_well = matches!(digits, [b'0'] | [b'1'..=b'9', ..]);
    starts_well.then_some(())?;
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// The digits of a number, written to the end of `buffer`.
pub fn digits(mut number: u64, buffer: &mut [u8; 20]) -> &[u8] {
    let mut used = 0;
    for place in buffer.iter_mut().rev() {
        *place = b'0' + (number % 10) as u8;
        number /= 10;
        used += 1;
        if number == 0 {
            break;
        }
    }
    buffer.last_chunk::<20>().and_then(|all| all.get(20 - used..)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_strict() {
        let sound: [(&[u8], i64); 6] = [
            (b"0", 0),
            (b"7", 7),
            (b"-12", -12),
            (b"9223372036854775807", i64::MAX),
            (b"-9223372036854775808", i64::MIN),
            (b"100", 100),
        ];
        for (text, number) in sound {
            assert_eq!(integer(text), Some(number));
        }
        let bad: [&[u8]; 10] = [
            b"",
            b"-",
            b"+1",
            b"01",
            b"-0",
            b"1 ",
            b"9223372036854775808",
            b"-9223372036854775809",
            b"x",
            b"--1",
        ];
        for text in bad {
            assert_eq!(integer(text), None, "{}", text.escape_ascii());
        }
        assert_eq!(unsigned(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(unsigned(b"18446744073709551616"), None);
    }

    #[test]
    fn digits_are_those_of_the_number() {
        for number in [0, 1, 9, 10, 99, 100, 12_345, u64::MAX] {
            assert_eq!(digits(number, &mut [0; 20]), number.to_string().as_bytes());
        }
    }
}
