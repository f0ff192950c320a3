// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Twitter's cache clusters as workloads (Yang, Yue and Rashmi, OSDI'20): key and value size, mix, skew and how often a key
//! is asked for, as published for each. What changes a value in place (incr, append, cas) is a put; a cluster without a
//! published exponent asks for all keys alike.

use crate::distribution::Distribution;
use crate::mix::Mix;

/// The committed statistics, with their licence.
const TABLE: &str = include_str!("../data/twitter-2020mar.csv");

/// A cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cluster {
    /// `twitter-` and its number.
    pub name: &'static str,
    /// Mean key size in bytes.
    pub key_bytes: usize,
    /// Mean value size in bytes.
    pub value_bytes: u32,
    /// Requests of a key, on average.
    pub mean_frequency: f64,
    /// Exponent of its popularity; 0: all alike, or not published.
    pub alpha: f64,
    /// Its operations, in percent.
    pub mix: Mix,
}

impl Cluster {
    fn parse(line: &'static str) -> Self {
        let mut fields = line.split(',');
        let mut field = || fields.next().expect("the committed table has eight columns");
        let name = field();
        let number = |text: &str| text.parse::<f64>().unwrap_or_else(|_| panic!("{name}: {text}"));
        let unknown = |text: &str| if text == "-" { 0.0 } else { number(text) };
        Self {
            name,
            key_bytes: number(field()) as usize,
            value_bytes: number(field()) as u32,
            mean_frequency: number(field()),
            alpha: unknown(field()),
            mix: Mix {
                get: number(field()) as u32,
                put: number(field()) as u32,
                delete: number(field()) as u32,
                ..Mix::default()
            },
        }
    }

    /// Keys that so many requests are for.
    pub fn keys(&self, operations: u64) -> u64 {
        ((operations as f64 / self.mean_frequency) as u64).max(1)
    }

    /// How its keys are chosen.
    pub const fn distribution(&self) -> Distribution {
        Distribution::Skewed { alpha: self.alpha }
    }
}

/// All clusters, in the order of their numbers.
pub fn clusters() -> impl Iterator<Item = Cluster> {
    let rows = TABLE.lines().filter(|line| !line.starts_with('#')).skip(1);
    rows.map(Cluster::parse)
}

/// The cluster of that number.
pub fn cluster(number: u8) -> Option<Cluster> {
    clusters().find(|cluster| cluster.name.strip_prefix("twitter-") == Some(&number.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        assert_eq!(clusters().count(), 53, "all but cluster 5");
        for cluster in clusters() {
            let sum = cluster.mix.get + cluster.mix.put + cluster.mix.delete;
            // Operations below 1 % are left out of the published mix.
            assert!((95..=102).contains(&sum), "{cluster:?}");
            assert!((4..=255).contains(&cluster.key_bytes) && cluster.mean_frequency >= 1.0, "{cluster:?}");
        }
    }

    /// Rows of the published page, by hand.
    #[test]
    fn rows_are_as_published() {
        let c = cluster(14).expect("there");
        assert_eq!((c.key_bytes, c.value_bytes, c.mean_frequency, c.alpha), (96, 414, 35.4, 1.2959));
        assert_eq!(c.mix, Mix { get: 65, put: 13, delete: 22, ..Mix::default() });
        let c = cluster(52).expect("there");
        assert_eq!((c.key_bytes, c.value_bytes, c.mix.get, c.mix.put), (20, 273, 93, 6));
        assert_eq!((cluster(5), cluster(55)), (None, None));
    }
}
