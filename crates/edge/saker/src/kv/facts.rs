// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a device tells of itself, and what was counted.

use super::Kv;
use saker_device::Stats;
use saker_engine::write_gate::WriteControl;
use saker_host::{CacheStats, HostError};
use saker_nvme::vendor_specific::Counter;
use saker_runtime::AnyDriver;

impl Kv {
    /// Everything countable; nothing while the device runs on a thread of its own.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// kv.put(b"key", &[7; 100])?;
    /// let stats: saker::Stats = kv.stats().expect("the device is on this thread");
    /// let namespace: &saker::NamespaceSnapshot = &stats.namespaces[0];
    /// assert_eq!((namespace.kind, namespace.store.pairs), ("kv", 1));
    /// let most: &saker::Fits = &namespace.fits[0]; // how many pairs of one size it holds
    /// assert!(most.pairs > 0 && stats.device.commands > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stats(&mut self) -> Option<Stats> {
        match self.store.native().driver_mut() {
            AnyDriver::Inline(device) => Some(device.stats()),
            _ => None,
        }
    }

    /// Whether the device's engine holds writes back now, and when, why and for how long it did since the device was opened: over
    /// every URL, by log page C2h. `None`: the device does not tell, such as one of a vendor that does not have that page.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=lsm&threads=1")?;
    /// kv.put(b"key", b"value")?;
    /// let told: saker::WriteControl = kv.write_control()?.expect("a device of ours tells");
    /// assert_eq!(told.condition, saker::WriteCondition::Normal);
    /// let stopped: saker::Held = told.stalls.all(saker::Hold::Stopped);
    /// println!("writes were stopped for {} s", stopped.time.as_secs_f64());
    /// let stalls: &saker::Stalls = &told.stalls;
    /// for period in &stalls.recent {
    ///     let period: &saker::Period = period;
    ///     let cause: saker::WriteStallCause = period.cause;
    ///     println!("{}, {}: {} s", period.hold.name(), cause.name(), period.length.as_secs_f64());
    /// }
    /// # assert!(stalls.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`HostError`].
    pub fn write_control(&mut self) -> Result<Option<WriteControl>, HostError> {
        if let AnyDriver::Dual(dual) = self.store.native().driver_mut() {
            return Ok(Some(dual.served().write_control()));
        }
        self.connection.write_control(self.store.native().driver_mut(), self.nsid)
    }

    /// Everything that the device counts, by name, over every URL: log page C3h ([`Counter`]). A target tells what all
    /// its hosts have done, by opcode and status, too. `None`: the device does not tell, such as one of a vendor that does not have
    /// that page.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&threads=1")?;
    /// kv.put(b"key", &[7; 100])?;
    /// let counters: Vec<saker::Counter> = kv.counters()?.expect("a device of ours tells");
    /// let written = counters.iter().find(|counter| counter.name == "host_written_bytes").expect("it is there");
    /// assert_eq!((written.value, written.kind), (100, saker::CounterKind::Counter));
    /// assert_eq!(written.of, saker::CounterOf::Device, "and of no command");
    /// let class = saker::CommandClass::Kv; // of numbers that are
    /// # assert_eq!(class.name(), "kv");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`HostError`].
    pub fn counters(&mut self) -> Result<Option<Vec<Counter>>, HostError> {
        let told = self.connection.counters(self.store.native().driver_mut())?;
        let AnyDriver::Dual(dual) = self.store.native().driver_mut() else { return Ok(told) };
        let (store, nsid) = (dual.served().store(), dual.served().blocks());
        let own = store.counters().into_iter();
        let own = own.map(|(name, value)| Counter::new(name, saker_hybrid::counter_kind(name), nsid, value));
        Ok(told.map(|told| told.into_iter().chain(own).collect()))
    }

    /// Events of a device that keeps time on a thread of this process, and how many of them came more than 5 us late. `None` for others.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&timing=real")?;
    /// kv.put(b"key", b"value")?;
    /// let (events, late) = kv.lag().expect("it keeps time");
    /// assert!(events > 0 && late <= events);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lag(&mut self) -> Option<(u64, u64)> {
        self.store.native().driver_mut().lag()
    }

    /// Counters of the read cache.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&cache=1MiB")?;
    /// kv.put(b"key", b"value")?;
    /// (kv.get(b"key")?, kv.get(b"key")?);
    /// let stats: saker::CacheStats = kv.cache_stats();
    /// assert_eq!((stats.hits, stats.misses, stats.hit_ratio()), (1, 1, 0.5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn cache_stats(&self) -> CacheStats {
        self.cache.stats()
    }

    /// The page that keeps the value of a key from being read, or the first one that it is in; in words, as `saker check` names
    /// it. `None` where the device is not on this thread, or the key not there.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// assert_eq!(kv.page_of(b"no such key"), None);
    /// kv.put(b"key", b"value")?;
    /// assert!(kv.page_of(b"key").is_some_and(|page| page.starts_with("page ")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn page_of(&mut self, key: &[u8]) -> Option<String> {
        match self.store.native().driver_mut() {
            AnyDriver::Inline(device) => device.page_of(self.nsid, key),
            _ => None,
        }
    }

    /// How often the connection to a target was lost and made again; of a device of the kernel's, how many commands were
    /// repeated because of that; 0 for devices of this process.
    ///
    /// ```no_run
    /// let mut kv = saker::Kv::open("tcp://127.0.0.1:4420?reconnect=60")?;
    /// kv.put(b"key", b"value")?;
    /// if kv.reconnects() > 0 {
    ///     eprintln!("the connection was lost {} times", kv.reconnects());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reconnects(&mut self) -> u64 {
        match self.store.native().driver_mut() {
            AnyDriver::Remote(remote) => remote.reconnects(),
            AnyDriver::Linux(namespace) => namespace.repeated(),
            AnyDriver::VfioUser(relay) => relay.reconnects(),
            _ => 0,
        }
    }

    /// Bytes of keys and values for which the namespace says that it has room, as Identify Namespace tells (NSZE).
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// assert!((1 << 20..4 << 20).contains(&kv.capacity_bytes()?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn capacity_bytes(&mut self) -> Result<u64, HostError> {
        let driver = self.store.native().driver_mut();
        Ok(self.connection.identify_kv_namespace(driver, self.nsid)?.nsze.get())
    }

    /// Name of the device's profile; of a target, `remote`.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// assert_eq!(kv.profile(), "tiny");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn profile(&self) -> &str {
        &self.profile
    }

    /// Serial number, model and firmware revision, as Identify Controller tells them.
    ///
    /// ```
    /// let url = "mem:?size=4MiB&profile=tiny";
    /// let (serial, model, _firmware) = saker::Kv::open(url)?.identity();
    /// let (other, _, _) = saker::Kv::open(url)?.identity();
    /// assert_ne!(serial, other, "each opening is a device of its own, unless the URL has a seed");
    /// # assert!(!model.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn identity(&self) -> (String, String, String) {
        let c = self.connection.controller();
        let text = |b: &[u8]| String::from_utf8_lossy(b).trim_end().to_owned();
        (text(&c.sn), text(&c.mn), text(&c.fr))
    }
}
