//! The hash FTLs Original and Plus (Duffy, Kim, Kim).

pub mod arithmetic;
pub mod counts;
mod device;
