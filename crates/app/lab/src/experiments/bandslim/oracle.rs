// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The published sizes, written down once more and independently of the encoders and accountants that are judged by
//! them (BandSlim, ICPP'24, section 3.2; NVMe Base 2.0 for entries and doorbells).

use saker_host::Method;

/// Submission entry, completion entry, two doorbells.
const COMMAND: u64 = 64 + 16 + 4 + 4;

/// Commands that carry a value in their fields: 35 bytes in the first, 56 in each further one.
pub fn piggyback_commands(bytes: u64) -> u64 {
    1 + bytes.saturating_sub(35).div_ceil(56)
}

/// Link bytes of one store whose commands each ring both doorbells. Nothing for methods whose bytes no
/// paper here counts, such as stores through the BAR.
pub fn link_bytes(method: Method, bytes: u64) -> Option<u64> {
    let pages = bytes.div_ceil(4096);
    Some(match method {
        Method::Prp => COMMAND + 4096 * pages,
        Method::Sgl => COMMAND + bytes,
        Method::Piggyback => COMMAND * piggyback_commands(bytes),
        Method::Hybrid => COMMAND * (1 + (bytes % 4096).div_ceil(56)) + 4096 * (bytes / 4096),
        Method::Inline => COMMAND + 64 * bytes.div_ceil(64),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Command counts from the paper's text and the step points that follow from 35 and 56.
    #[test]
    fn commands_step_where_fields_are_full() {
        let found = [1, 35, 36, 91, 92, 128, 147, 148, 4096].map(piggyback_commands);
        assert_eq!(found, [1, 1, 2, 2, 3, 3, 3, 4, 74]);
    }

    #[test]
    fn bytes_of_a_store() {
        let at = |method, bytes| link_bytes(method, bytes).unwrap();
        assert_eq!([32, 4096, 4097].map(|v| at(Method::Prp, v)), [4184, 4184, 8280]);
        assert_eq!([32, 64, 128].map(|v| at(Method::Piggyback, v)), [88, 176, 264]);
        assert_eq!([64, 128, 4096].map(|v| at(Method::Inline, v)), [152, 216, 4184]);
        assert_eq!([4100, 4096 + 128].map(|v| at(Method::Hybrid, v)), [4272, 4448]);
        assert_eq!(at(Method::Sgl, 100), 188);
    }
}
