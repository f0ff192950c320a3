//! How a value gets to the device: the methods, which of them a device carries, and the policies that choose.

mod adaptive;
mod auto;
mod available;
mod options;

pub use adaptive::Adaptive;
pub use auto::{Auto, CostTable, Objective};
pub use available::Available;
pub use options::{Pacing, TransferOptions, TransferPolicy};

/// A way to move a value to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Method {
    /// Whole pages named by PRPs: what every device has.
    #[default]
    Prp,
    /// The exact bytes, named by one SGL data block in the entry (NVMe Base 2.0, section 4.1.2).
    Sgl,
    /// In the fields of commands: 35 bytes in the store, 56 in each transfer command (BandSlim, ICPP'24, section 3.2).
    Piggyback,
    /// Whole pages by PRPs, the rest in the fields of commands (BandSlim section 3.2).
    Hybrid,
    /// In the submission queue behind the command, 64 bytes an entry (ByteExpress).
    Inline,
    /// By stores through the BAR and a commit command (2B-SSD, ISCA'18).
    Mmio,
}

impl Method {
    /// All, in the order in which ties are decided.
    pub const ALL: [Self; 6] =
        [Self::Prp, Self::Sgl, Self::Piggyback, Self::Hybrid, Self::Inline, Self::Mmio];

    /// The name in results and options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prp => "prp",
            Self::Sgl => "sgl",
            Self::Piggyback => "piggyback",
            Self::Hybrid => "hybrid",
            Self::Inline => "inline",
            Self::Mmio => "mmio",
        }
    }

    /// The method of that name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Place in [`Method::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}
