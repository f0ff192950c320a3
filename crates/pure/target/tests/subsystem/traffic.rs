// SPDX-License-Identifier: Apache-2.0 OR MIT
//! In which order commands go to the device, and which of them wait.

use std::collections::BTreeMap;

use saker_sim::{Duration, Instant};
use saker_target::{Charge, HostId, NamespaceRates, Rates, Traffic, Window};

use super::START;

const SECOND: u64 = 1_000_000_000;
const NONE: Rates = Rates { commands_per_second: None, bytes_per_second: None };

fn commands(rate: u64) -> Rates {
    Rates { commands_per_second: Some(rate), ..NONE }
}

fn bytes(rate: u64) -> Rates {
    Rates { bytes_per_second: Some(rate), ..NONE }
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// Numbers of a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// What goes first in a round of its own.
fn next<T>(traffic: &mut Traffic<T>, now: Instant) -> Option<(Charge, T)> {
    traffic.begin_round();
    traffic.next(now)
}

/// Everything that may go now goes and is carried out at once.
fn drain(traffic: &mut Traffic<u32>, now: Instant) -> Vec<u32> {
    std::iter::from_fn(|| {
        let (charge, item) = next(traffic, now)?;
        traffic.finished(charge, u64::MAX, now);
        Some(item)
    })
    .collect()
}

#[test]
fn commands_a_second_are_kept_to_whenever_one_looks() {
    for (rate, step) in [(1, SECOND / 7), (10, 1_000_003), (1_000, 999), (250_000, 50_000)] {
        let mut traffic = Traffic::default();
        let host = traffic.join("a", commands(rate), START);
        (0..100_000).for_each(|n| traffic.push((host, 1), (1, 100), n, START));
        let (mut gone, seconds) = (0, if rate > 1000 { 1 } else { 5 });
        for turn in 0..(seconds * SECOND / step).min(2_000_000) {
            let now = at(turn * step);
            gone += drain(&mut traffic, now).len() as u64;
            let most = rate * (turn * step) / SECOND + rate / 10 + 2;
            assert!(gone <= most, "{gone} of {most} at {rate}");
            let until = traffic.deadline();
            assert!(traffic.waiting() == 0 || until.is_some_and(|until| until > now));
        }
        let (waited, _) = traffic.waited();
        let most = (seconds * SECOND / step).min(2_000_000) * step;
        assert!(gone + 2 >= (rate * most / SECOND).min(100_000), "{gone} at {rate}");
        assert!(waited.commands > 0 && waited.nanos <= most);
    }
}

#[test]
fn bytes_that_were_not_moved_are_given_back() {
    let mut traffic = Traffic::default();
    let host = traffic.join("a", bytes(1_000_000), START);
    (0..1_000).for_each(|n| traffic.push((host, 1), (1, 1_000_000), n, START));
    let mut gone = 0;
    for ms in 0..1_000 {
        while let Some((charge, _)) = next(&mut traffic, at(ms * 1_000_000)) {
            gone += 1;
            traffic.finished(charge, 10_000, at(ms * 1_000_000));
        }
    }
    // 10,000 bytes each, and a tenth of a second to begin with.
    assert!((109..=111).contains(&gone), "{gone}");
}

#[test]
fn a_command_larger_than_the_bucket_goes_and_is_paid_for() {
    let mut traffic = Traffic::default();
    let host = traffic.join("a", bytes(1_000), START);
    (0..2).for_each(|n| traffic.push((host, 1), (1, 2 << 20), n, START));
    assert_eq!(drain(&mut traffic, START), [0]);
    let until = traffic.deadline().unwrap();
    assert_eq!(until.as_nanos() / SECOND, (2 << 20) / 1_000, "a tenth of a second less, rounded down");
    assert_eq!(drain(&mut traffic, at(until.as_nanos() - 1)), []);
    assert_eq!(drain(&mut traffic, until), [1]);
}

#[test]
fn a_quiet_host_waits_for_no_more_than_a_turn_of_a_greedy_one() {
    for (size, most) in [(0, 4), (4 << 10, 2), (2 << 20, 1)] {
        let mut traffic = Traffic::default();
        let (greedy, quiet) = (traffic.join("greedy", NONE, START), traffic.join("quiet", NONE, START));
        for connection in 1..=64 {
            traffic.join("greedy", NONE, START);
            (0..128).for_each(|n| traffic.push((greedy, connection), (1, size), n, START));
        }
        let mut before = 0;
        for turn in 0..1_000_u32 {
            traffic.push((quiet, 99), (1, 100), 1_000_000, START);
            let begun = before;
            loop {
                let (charge, item) = next(&mut traffic, START).unwrap();
                traffic.finished(charge, u64::MAX, START);
                if item == 1_000_000 {
                    break;
                }
                before += 1;
                traffic.push((greedy, u64::from(turn) % 64 + 1), (1, size), 0, START);
            }
            assert!(before - begun <= most, "{} of {size} bytes", before - begun);
        }
        let share = 1_000 * 4_196 / (4_096 + size) as u32;
        assert!(before >= share / 2, "the greedy one has its share: {before} of {share}");
    }
}

/// It goes first when it begins to ask. It stays among those that ask for a turn when it has nothing more, so it cannot begin again.
#[test]
fn who_begins_to_ask_again_and_again_gets_no_more_than_others() {
    let mut traffic = Traffic::default();
    let (steady, bursts) = (traffic.join("steady", NONE, START), traffic.join("bursts", NONE, START));
    (0..100).for_each(|_| traffic.push((steady, 1), (1, 0), 0, START));
    let mut served = [0_u32; 2];
    let mut one = |traffic: &mut Traffic<u32>| {
        let (charge, item) = next(traffic, START).unwrap();
        traffic.finished(charge, u64::MAX, START);
        served[item as usize] += 1;
        if item == 0 {
            traffic.push((steady, 1), (1, 0), 0, START);
        }
        item
    };
    for _ in 0..1_000 {
        (0..4).for_each(|_| traffic.push((bursts, 2), (1, 0), 1, START));
        let mut left = 4;
        while left > 0 {
            left -= one(&mut traffic);
        }
        assert_eq!(one(&mut traffic), 0, "the other one has nothing now");
    }
    let [steady, bursts] = served;
    assert!(steady * 4 >= bursts * 3, "{steady} of one that always asks, {bursts} of the other");
}

#[test]
fn greedy_hosts_share_by_what_they_cost() {
    let mut traffic = Traffic::default();
    let sizes = [0, 8 << 10, 300 << 10];
    let hosts = ["a", "b", "c"].map(|name| traffic.join(name, NONE, START));
    let push = |traffic: &mut Traffic<u32>, n: usize| {
        traffic.push((hosts[n], n as u64), (1, sizes[n]), n as u32, START);
    };
    (0..32).for_each(|_| (0..3).for_each(|n| push(&mut traffic, n)));
    let mut cost = [0; 3];
    for _ in 0..20_000 {
        let (charge, n) = next(&mut traffic, START).unwrap();
        traffic.finished(charge, u64::MAX, START);
        cost[n as usize] += charge.cost();
        push(&mut traffic, n as usize);
    }
    let (least, most) = (*cost.iter().min().unwrap(), *cost.iter().max().unwrap());
    assert!(most - least <= most / 50, "{cost:?}");
}

#[test]
fn a_namespace_at_its_rate_holds_up_nothing_for_others() {
    let mut traffic = Traffic::default();
    let rates = NamespaceRates::from([(1, commands(10))]);
    traffic.set_rates(|_| NONE, &rates, START);
    let host = traffic.join("a", NONE, START);
    for n in 0..100 {
        traffic.push((host, 1), (1 + n % 2, 0), n, START);
    }
    // The own commands of the target are nobody's.
    traffic.push((HostId::OWN, 1), (1, 0), 1_000, START);
    let gone = drain(&mut traffic, START);
    let second: Vec<u32> = gone.iter().copied().filter(|n| n % 2 == 1).collect();
    assert_eq!(gone[0], 1_000);
    assert_eq!((gone.len(), second.len()), (52, 50), "one of namespace 1, all of namespace 2");
    assert_eq!(traffic.news().len(), 1);
    let (of_hosts, of_namespaces) = traffic.waited();
    let waited: BTreeMap<_, _> = of_namespaces.collect();
    assert_eq!((of_hosts.commands, waited.len()), (0, 0), "what waits still is not counted");
    drain(&mut traffic, at(SECOND));
    let (_, of_namespaces) = traffic.waited();
    assert_eq!(of_namespaces.map(|(nsid, waited)| (nsid, waited.nanos)).collect::<Vec<_>>(), [(1, SECOND)]);
}

#[test]
fn nobody_comes_back_to_a_full_bucket_and_who_owes_nothing_is_forgotten() {
    let mut traffic = Traffic::<u32>::default();
    let mut gone = 0;
    for turn in 0..100_u64 {
        let now = at(turn * 1_000_000);
        let host = traffic.join("a", commands(10), now);
        traffic.push((host, turn), (1, 0), 0, now);
        gone += drain(&mut traffic, now).len();
        let waiting = traffic.waiting();
        assert_eq!((traffic.leave(host, turn, now), traffic.waiting()), (waiting, 0));
    }
    assert!(gone <= 3, "{gone} in a tenth of a second");
    // As many strangers as want to owe something are remembered up to a bound.
    for n in 0..5_000_u64 {
        let host = traffic.join(&format!("stranger {n}"), bytes(1), at(SECOND));
        traffic.push((host, n), (1, n), 0, at(SECOND));
        drain(&mut traffic, at(SECOND));
        traffic.leave(host, n, at(SECOND));
    }
    assert!(traffic.hosts() < 300, "{}", traffic.hosts());
}

#[test]
fn other_rates_hold_at_once() {
    let mut traffic = Traffic::default();
    let host = traffic.join("a", bytes(1), START);
    (0..100).for_each(|n| traffic.push((host, 1), (1, 1_000), n, START));
    assert_eq!(drain(&mut traffic, START), [0]);
    assert_eq!(drain(&mut traffic, at(SECOND)), []);
    traffic.set_rates(|_| bytes(100_000), &NamespaceRates::new(), at(SECOND));
    assert_eq!(
        drain(&mut traffic, at(SECOND + SECOND / 10)).len(),
        10,
        "what is owed is paid at the new rate"
    );
    traffic.set_rates(|_| NONE, &NamespaceRates::from([(1, commands(1))]), at(2 * SECOND));
    assert_eq!(drain(&mut traffic, at(2 * SECOND)).len(), 89, "commands that are in line stay in their line");
    traffic.push((host, 1), (1, 0), 0, at(2 * SECOND));
    traffic.push((host, 1), (1, 0), 1, at(2 * SECOND));
    assert!(drain(&mut traffic, at(2 * SECOND)).len() <= 1);
    traffic.set_rates(|_| NONE, &NamespaceRates::new(), at(2 * SECOND));
    drain(&mut traffic, at(2 * SECOND));
    assert_eq!(traffic.waiting(), 0);
}

#[test]
fn the_window_bounds_what_the_device_has() {
    let mut traffic = Traffic::default();
    traffic.set_window(Window { all: 100_000, each: 20_000, ..Window::OPEN });
    let (a, b) = (traffic.join("a", NONE, START), traffic.join("b", NONE, START));
    (0..100).for_each(|n| traffic.push((a, 1), (1, 0), n, START));
    let alone: Vec<_> = std::iter::from_fn(|| next(&mut traffic, START)).collect();
    assert_eq!(alone.len(), 25, "100,000 of 4,096 each");
    traffic.push((b, 2), (1, 0), 1_000, START);
    alone.into_iter().for_each(|(charge, _)| traffic.finished(charge, 0, START));
    let both: Vec<_> = std::iter::from_fn(|| next(&mut traffic, START)).collect();
    let first = both.iter().position(|(_, item)| *item == 1_000).unwrap();
    assert!(both.len() == 1 + 5 && first <= 4, "{both:?}");
    assert_eq!(traffic.deadline(), None, "what it waits for is no limit");
    both.into_iter().for_each(|(charge, _)| traffic.finished(charge, 0, START));
    // The other one is there no more.
    let later = START + Duration::from_nanos(SECOND);
    assert_eq!(std::iter::from_fn(|| next(&mut traffic, later)).count(), 25);
}

/// A small command does not wait for the answers of a long one behind it; the long one waits a round at most.
#[test]
fn who_begins_to_ask_has_a_round_and_the_others_have_the_next_one() {
    let mut traffic = Traffic::default();
    let (greedy, quiet) = (traffic.join("greedy", NONE, START), traffic.join("quiet", NONE, START));
    let round = |traffic: &mut Traffic<u32>| {
        traffic.begin_round();
        let all: Vec<_> = std::iter::from_fn(|| traffic.next(START)).collect();
        assert_eq!(traffic.deadline(), None, "nothing waits for a limit");
        let items: Vec<u32> = all.iter().map(|(_, item)| *item).collect();
        all.into_iter().for_each(|(charge, _)| traffic.finished(charge, u64::MAX, START));
        items
    };
    traffic.set_window(Window { all: 64 << 10, ..Window::OPEN });
    (0..40).for_each(|_| traffic.push((greedy, 1), (1, 256 << 10), 0, START));
    traffic.push((quiet, 2), (1, 100), 1, START);
    // The first of those that have begun to ask is a greedy one: nobody knew.
    while !round(&mut traffic).contains(&1) {}
    let mut long = 0;
    for _ in 0..20 {
        traffic.push((quiet, 2), (1, 100), 1, START);
        let rounds: [Vec<u32>; 3] = std::array::from_fn(|_| round(&mut traffic));
        let at = rounds.iter().position(|items| items.contains(&1)).unwrap();
        assert!(at <= 1, "it waits for one long command at most: {rounds:?}");
        assert_eq!(rounds[at], [1], "its answer waits for no other command's");
        long += rounds.iter().flatten().filter(|item| **item == 0).count();
    }
    assert!(long >= 20, "the greedy one goes on: {long}");
}

/// A long command begins behind the answer of a host that is about to ask again. Nothing waits for a host that does not ask.
#[test]
fn a_long_command_begins_while_the_others_think() {
    let mut traffic = Traffic::default();
    let [greedy, quiet, third] = ["greedy", "quiet", "third"].map(|name| traffic.join(name, NONE, START));
    let round = |traffic: &mut Traffic<u32>, nanos: u64| {
        traffic.begin_round();
        let all: Vec<_> = std::iter::from_fn(|| traffic.next(at(nanos))).collect();
        assert_eq!(traffic.deadline(), None, "nothing waits for a limit");
        let items: Vec<u32> = all.iter().map(|(_, item)| *item).collect();
        all.into_iter().for_each(|(charge, _)| traffic.finished(charge, u64::MAX, at(nanos)));
        items
    };
    traffic.set_window(Window { all: 64 << 10, long: 64 << 10, ..Window::OPEN });
    (0..40).for_each(|_| traffic.push((greedy, 1), (1, 256 << 10), 0, START));
    assert_eq!(round(&mut traffic, 0), [0], "nobody else is there");
    // Both have begun to ask: nobody knows yet who goes on asking.
    traffic.push((quiet, 2), (1, 100), 1, START);
    while !round(&mut traffic, 0).contains(&1) {}
    let mut now = 0;
    for _ in 0..10 {
        now += 50_000;
        traffic.push((quiet, 2), (1, 100), 1, at(now));
        assert_eq!(round(&mut traffic, now), [1]);
        assert_eq!(round(&mut traffic, now + 2_000), [0], "right behind the answer");
        (1..20).for_each(|n| assert!(round(&mut traffic, now + n * 2_500).is_empty(), "it is about to ask"));
        // What is short waits for nobody.
        traffic.push((third, 3), (1, 1_000), 2, at(now));
        assert_eq!(round(&mut traffic, now + 49_000), [2]);
        assert_eq!(round(&mut traffic, now + 49_500), [0], "behind that answer, too");
    }
    now += 200_000;
    (0..5).for_each(|n| assert_eq!(round(&mut traffic, now + n * 1_000), [0], "it does not ask any more"));
    // Two that ask for what takes long do not wait for each other.
    now += 1_000_000;
    (0..10).for_each(|_| traffic.push((quiet, 2), (1, 256 << 10), 1, at(now)));
    let all: Vec<_> = (0..20).flat_map(|n| round(&mut traffic, now + n * 1_000)).collect();
    assert_eq!(all.len(), 20, "a round has one: {all:?}");
    assert!((8..=12).contains(&all.iter().filter(|item| **item == 1).count()), "they have turns: {all:?}");
}

/// What a command was: host, connection, namespace, number.
type Item = (usize, u64, u32, u64);

struct Model {
    traffic: Traffic<Item>,
    dice: Dice,
    now: Instant,
    hosts: Vec<(HostId, u64)>,
    in_device: Vec<(Charge, Item)>,
    waiting: Vec<Item>,
    number: u64,
}

impl Model {
    fn push(&mut self) {
        let n = self.dice.roll(self.hosts.len() as u64) as usize;
        let (host, connection) = self.hosts[n];
        let (nsid, size) = (1 + self.dice.roll(3) as u32, self.dice.roll(100_000));
        self.number += 1;
        let item = (n, connection, nsid, self.number);
        self.traffic.push((host, connection), (nsid, size), item, self.now);
        self.waiting.push(item);
    }

    fn next(&mut self) {
        if self.dice.roll(3) == 0 {
            self.traffic.begin_round();
        }
        let Some((charge, item)) = self.traffic.next(self.now) else { return };
        let (n, _, nsid, number) = item;
        let first = self.waiting.iter().find(|other| (other.0, other.2) == (n, nsid)).unwrap();
        assert_eq!(first.3, number, "of a host and a namespace in order");
        if self.dice.roll(10) == 0 {
            return self.traffic.put_back(charge, item);
        }
        self.waiting.retain(|other| other.3 != number);
        self.in_device.push((charge, item));
    }

    fn finish(&mut self) {
        if !self.in_device.is_empty() {
            let at = self.dice.roll(self.in_device.len() as u64) as usize;
            let (charge, _) = self.in_device.swap_remove(at);
            let moved = self.dice.roll(100_000);
            self.traffic.finished(charge, moved, self.now);
        }
    }

    fn leave(&mut self) {
        let n = self.dice.roll(self.hosts.len() as u64) as usize;
        let (host, connection) = self.hosts[n];
        let before = self.waiting.len();
        self.waiting.retain(|item| item.1 != connection);
        assert_eq!(self.traffic.leave(host, connection, self.now), before - self.waiting.len());
        self.join(n, connection + 1_000);
    }

    fn join(&mut self, n: usize, connection: u64) {
        let rates = [NONE, commands(1_000), bytes(1 << 20), NONE][n];
        let host = self.traffic.join(["a", "b", "c", "a"][n], rates, self.now);
        self.hosts.resize(self.hosts.len().max(n + 1), (host, 0));
        self.hosts[n] = (host, connection);
    }

    fn step(&mut self) {
        match self.dice.roll(16) {
            0..5 => self.push(),
            5..10 => self.next(),
            10..14 => self.finish(),
            14 => self.leave(),
            _ => self.now = self.now + Duration::from_nanos(self.dice.roll(5_000_000)),
        }
        assert_eq!(self.traffic.waiting(), self.waiting.len());
    }
}

#[test]
fn whatever_comes_nothing_is_lost_or_goes_twice() {
    for seed in 1..=20 {
        let (traffic, dice) = (Traffic::default(), Dice(seed));
        let (hosts, in_device, waiting) = (Vec::new(), Vec::new(), Vec::new());
        let mut model = Model { traffic, dice, now: START, hosts, in_device, waiting, number: 0 };
        (0..4).for_each(|n| model.join(n, n as u64 + 1));
        let rates = NamespaceRates::from([(2, commands(500)), (3, bytes(1 << 20))]);
        model.traffic.set_rates(|name| if name == "b" { commands(1_000) } else { NONE }, &rates, START);
        model.traffic.set_window(Window { all: 1 << 20, each: 1 << 18, long: 50_000 });
        (0..5_000).for_each(|_| model.step());
        let mut turns = 0;
        while !model.waiting.is_empty() || !model.in_device.is_empty() {
            model.next();
            model.finish();
            model.now = model.now + Duration::from_nanos(1_000_000);
            turns += 1;
            assert!(turns < 1_000_000, "{} wait", model.waiting.len());
        }
        assert_eq!(model.traffic.waiting_bytes(), 0);
    }
}
