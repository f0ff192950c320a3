// SPDX-License-Identifier: Apache-2.0 OR MIT
//! YCSB's core workload as its property files describe it (Cooper et al., SoCC'10; the properties and their defaults are
//! those of YCSB's `CoreWorkload`). A record is one value here: its fields lie one behind the other, and an update writes all
//! of them.

mod properties;

use crate::distribution::Distribution;
use crate::key::KeyForm;
use crate::mix::Mix;
use crate::plan::Plan;
use crate::size::Sizes;
use crate::suite::YCSB_THETA;
use properties::Properties;
use thiserror::Error;

/// A property file that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("property {name}={value}: {reason}")]
pub struct PropertyError {
    /// The property.
    pub name: String,
    /// What it was set to.
    pub value: String,
    /// What is wrong.
    pub reason: &'static str,
}

/// Weights of operations add up to about this much: proportions have six digits.
const WHOLE: f64 = 1e6;

/// A workload of a property file.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreWorkload {
    /// Records that the load phase inserts.
    pub records: u64,
    /// Operations of the run phase.
    pub operations: u64,
    /// Bytes of a record: fields by their length.
    pub value_bytes: u32,
    /// Shares of the run phase.
    pub mix: Mix,
    /// Whether writes are read-modify-writes.
    pub read_modify_write: bool,
    /// Which records.
    pub distribution: Distribution,
    /// Records that a scan asks for: at least, at most.
    pub scan: (u32, u32),
    /// Whether keys are in the order of their insertion.
    pub ordered: bool,
}

impl CoreWorkload {
    /// Reads a property file. Properties that it does not know say nothing to it, as with YCSB.
    ///
    /// # Errors
    /// [`PropertyError`] for a value that makes no sense, or asks for what there is not.
    pub fn parse(text: &str) -> Result<Self, PropertyError> {
        let p = Properties::parse(text);
        let class = p.text("workload", "site.ycsb.workloads.CoreWorkload");
        if !class.ends_with(".CoreWorkload") && class != "CoreWorkload" {
            return Err(p.refuse("workload", "only CoreWorkload is known"));
        }
        let (mix, read_modify_write) = mix(&p)?;
        let fields = p.number("fieldcount", 10)?.checked_mul(p.number("fieldlength", 100)?);
        let value_bytes = fields.and_then(|n| u32::try_from(n).ok());
        p.one_of("fieldlengthdistribution", &["constant"])?;
        Ok(Self {
            records: p.number("recordcount", 1000)?.max(1),
            operations: p.number("operationcount", 1000)?,
            value_bytes: value_bytes.ok_or_else(|| p.refuse("fieldlength", "a record is too long"))?,
            mix,
            read_modify_write,
            distribution: distribution(&p)?,
            scan: scan(&p)?,
            ordered: p.one_of("insertorder", &["hashed", "ordered"])? == "ordered",
        })
    }

    /// The run phase; [`Plan::preload`] of it is the load phase.
    pub fn plan(&self, seed: u64, key_bytes: usize) -> Plan {
        Plan {
            seed,
            operations: self.operations,
            keys: self.records,
            key_bytes,
            key_form: if self.ordered { KeyForm::Ordered } else { KeyForm::Hashed },
            distribution: self.distribution,
            mix: self.mix,
            read_before_put: self.read_modify_write,
            value_bytes: Sizes::Fixed(self.value_bytes),
            list_entries: Sizes::Uniform(self.scan.0, self.scan.1),
            ..Plan::default()
        }
    }
}

fn mix(p: &Properties) -> Result<(Mix, bool), PropertyError> {
    let weight = |name, default| -> Result<u32, PropertyError> {
        let share = p.fraction(name, default)?;
        Ok((share * WHOLE).round() as u32)
    };
    let update = weight("updateproportion", 0.05)?;
    let modify = weight("readmodifywriteproportion", 0.0)?;
    if update > 0 && modify > 0 {
        return Err(p.refuse("readmodifywriteproportion", "updates and read-modify-writes do not mix here"));
    }
    let mix = Mix {
        get: weight("readproportion", 0.95)?,
        put: update.max(modify),
        insert: weight("insertproportion", 0.0)?,
        list: weight("scanproportion", 0.0)?,
        ..Mix::default()
    };
    if mix == Mix::default() {
        return Err(p.refuse("readproportion", "no operation has a share"));
    }
    Ok((mix, modify > 0))
}

fn distribution(p: &Properties) -> Result<Distribution, PropertyError> {
    Ok(match p.one_of("requestdistribution", &["uniform", "zipfian", "latest", "sequential"])? {
        "zipfian" => Distribution::Scrambled { theta: YCSB_THETA },
        "latest" => Distribution::Latest { theta: YCSB_THETA },
        "sequential" => Distribution::Sequential,
        _ => Distribution::Uniform,
    })
}

fn scan(p: &Properties) -> Result<(u32, u32), PropertyError> {
    p.one_of("scanlengthdistribution", &["uniform"])?;
    let bound = |name, default| -> Result<u32, PropertyError> {
        u32::try_from(p.number(name, default)?).map_err(|_| p.refuse(name, "too long"))
    };
    let (least, most) = (bound("minscanlength", 1)?, bound("maxscanlength", 1000)?);
    if least > most {
        return Err(p.refuse("minscanlength", "above maxscanlength"));
    }
    Ok((least, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Workload E as YCSB's folder has it, license and comments left out.
    const E: &str = "\
# Yahoo! Cloud System Benchmark
recordcount=1000
operationcount=1000
workload=site.ycsb.workloads.CoreWorkload

readallfields=true

readproportion=0
updateproportion=0
scanproportion=0.95
insertproportion=0.05

requestdistribution=zipfian

maxscanlength=100

scanlengthdistribution=uniform
";

    #[test]
    fn workload_e_is_read() {
        let e = CoreWorkload::parse(E).unwrap();
        let mix = Mix { list: 950_000, insert: 50_000, ..Mix::default() };
        assert_eq!((e.records, e.operations, e.value_bytes, e.mix), (1000, 1000, 1000, mix));
        assert_eq!((e.scan, e.read_modify_write, e.ordered), ((1, 100), false, false));
        let plan = e.plan(3, 16);
        assert_eq!(plan.list_entries, Sizes::Uniform(1, 100));
        assert_eq!(plan.distribution, Distribution::Scrambled { theta: 0.99 });
        assert_eq!(plan.operations().unwrap().count(), 1000);
    }

    #[test]
    fn what_is_left_out_is_as_in_ycsb() {
        let it = CoreWorkload::parse("").unwrap();
        assert_eq!(it.mix, Mix { get: 950_000, put: 50_000, ..Mix::default() });
        assert_eq!((it.distribution, it.scan), (Distribution::Uniform, (1, 1000)));
    }

    #[test]
    fn read_modify_writes_are_puts_behind_gets() {
        let f =
            "readproportion=0.5\nupdateproportion=0\nreadmodifywriteproportion = 0.5\ninsertorder: ordered";
        let f = CoreWorkload::parse(f).unwrap();
        assert_eq!(f.mix, Mix { get: 500_000, put: 500_000, ..Mix::default() });
        assert!(f.read_modify_write && f.ordered && f.plan(1, 16).read_before_put);
    }

    #[test]
    fn what_cannot_be_run_is_refused_by_name() {
        let refused = |text: &str| CoreWorkload::parse(text).unwrap_err();
        for (text, name) in [
            ("requestdistribution=hotspot", "requestdistribution"),
            ("scanlengthdistribution=zipfian", "scanlengthdistribution"),
            ("fieldlengthdistribution=histogram", "fieldlengthdistribution"),
            ("recordcount=many", "recordcount"),
            ("readproportion=1.5", "readproportion"),
            ("readproportion=NaN", "readproportion"),
            ("readmodifywriteproportion=0.5", "readmodifywriteproportion"),
            ("readproportion=0\nupdateproportion=0", "readproportion"),
            ("minscanlength=9\nmaxscanlength=8", "minscanlength"),
            ("fieldcount=4294967296\nfieldlength=4294967296", "fieldlength"),
            ("workload=site.ycsb.workloads.TimeSeriesWorkload", "workload"),
        ] {
            assert_eq!(refused(text).name, name, "{text}");
        }
        let shown = refused("recordcount = many").to_string();
        assert_eq!(shown, "property recordcount=many: not a whole number");
    }
}
