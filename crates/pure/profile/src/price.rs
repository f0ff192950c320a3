// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What one kind of work costs in terms of another: for policies that weigh them and know no times.

use super::{Media, Nand, Profile};

const PS_PER_NS: u128 = 1000;
const PS_PER_S: u128 = 1_000_000_000_000;

impl Profile {
    /// Bytes that a core of the device copies in the time that programming `bytes` takes of the whole flash, all dies at work.
    /// 0 if programs take no time of their own.
    pub fn copied_while_programmed(&self, bytes: u32) -> u32 {
        let f = &self.firmware;
        // Hundredths of picoseconds, so that a small factor leaves something.
        let copy_byte = u128::from(f.cpu.copy_byte_ps.value) * u128::from(f.cpu_factor_percent.value);
        let (program, per_bytes) = match &self.media {
            Media::Nand(nand) => (self.page_ps(nand), u128::from(self.geometry.page_bytes.value)),
            Media::FourParameter(media) => (PS_PER_S, u128::from(media.write_bandwidth_bytes_per_s.value)),
            Media::LatencyTable(_) | Media::Fixed(_) => return 0,
        };
        let copied = program * 100 * u128::from(bytes) / (per_bytes * copy_byte).max(1);
        u32::try_from(copied).unwrap_or(u32::MAX)
    }

    /// Picoseconds of a page when every die works: its transfer and its program share of the dies, or its transfer share of
    /// the channels if these are the bottleneck.
    fn page_ps(&self, nand: &Nand) -> u128 {
        let g = &self.geometry;
        let (channels, ways) = (u128::from(g.channels.value), u128::from(g.ways_per_channel.value));
        let bandwidth = u128::from(nand.channel_bandwidth_bytes_per_s.value);
        let transfer = u128::from(g.page_bytes.value) * PS_PER_S / bandwidth;
        let program = u128::from(nand.program_ns.value) * PS_PER_NS;
        ((program + transfer) / (channels * ways)).max(transfer / channels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(name: &str, changes: &[(&str, &str)]) -> Profile {
        let mut profile = Profile::builtin(name).expect("built in");
        changes.iter().for_each(|(key, value)| profile.set(key, value).expect("a number"));
        profile
    }

    #[test]
    fn by_hand() {
        // (1,300,000 + 81,920) ns on 32 dies are 43,185 ns a page of 16,384 bytes; a byte's copy is 1 ns.
        assert_eq!(profile("cosmos-plus", &[]).copied_while_programmed(1024), 43_185 * 1024 / 16_384);
        let slow = profile("cosmos-plus", &[("firmware.cpu_factor_percent", "200")]);
        assert_eq!(slow.copied_while_programmed(16_384), 43_185 / 2);
        // 81,920 ns on four channels take longer than the dies.
        let quick = profile("cosmos-plus", &[("media.program_ns", "1")]);
        assert_eq!(quick.copied_while_programmed(16_384), 81_920 / 4);
    }

    #[test]
    fn by_bandwidth_or_none() {
        let profile = profile("saker-mid", &[("firmware.cpu.copy_byte_ps", "100")]);
        let Media::FourParameter(media) = &profile.media else { panic!("a profile of four parameters") };
        let gigabytes = media.write_bandwidth_bytes_per_s.value as f64 / 1e9;
        let copied = f64::from(profile.copied_while_programmed(1_000_000));
        assert!((copied * gigabytes / 1e7 - 1.0).abs() < 1e-3, "{copied}");
        assert_eq!(self::profile("fixed", &[]).copied_while_programmed(1024), 0);
    }

    #[test]
    fn copies_that_cost_nothing_are_always_worth_it() {
        let free = profile("cosmos-plus", &[("firmware.cpu.copy_byte_ps", "0")]);
        assert_eq!(free.copied_while_programmed(1024), u32::MAX);
    }
}
