// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How a store chooses its method.

use super::{Adaptive, Auto, Available, Method, planted};

/// Who chooses the method of a store. Whatever is chosen, a value that it cannot carry goes by PRPs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransferPolicy {
    /// Always this one.
    Fixed(Method),
    /// BandSlim's thresholds.
    Adaptive(Adaptive),
    /// The cheapest of all that the device carries.
    Auto(Auto),
}

impl Default for TransferPolicy {
    fn default() -> Self {
        Self::Fixed(Method::Prp)
    }
}

impl TransferPolicy {
    /// The method for a value of `bytes` bytes.
    #[inline]
    #[must_use]
    pub fn choose(&self, bytes: u32, available: &Available) -> Method {
        if let Some(method) = planted::forced() {
            return available.or_prp(method, bytes);
        }
        let wish = match self {
            Self::Fixed(method) => *method,
            Self::Adaptive(adaptive) => adaptive.choose(bytes),
            Self::Auto(auto) => return auto.choose(bytes, available),
        };
        available.or_prp(wish, bytes)
    }
}

/// When the commands of one value go out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    /// All at once, behind one doorbell.
    #[default]
    Pipelined,
    /// One command at a time, each awaited: NVMe passthrough (BandSlim section 4.2).
    Passthrough,
}

/// How a queue sends values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransferOptions {
    /// Who chooses.
    pub policy: TransferPolicy,
    /// When commands of one value go out.
    pub pacing: Pacing,
    /// Gets of a run ask for this many bytes without a page; 0: with a page.
    pub small_reads: u32,
}

impl TransferOptions {
    /// Always `method`, with that pacing.
    #[must_use]
    pub const fn fixed(method: Method, pacing: Pacing) -> Self {
        Self { policy: TransferPolicy::Fixed(method), pacing, small_reads: 0 }
    }
}
