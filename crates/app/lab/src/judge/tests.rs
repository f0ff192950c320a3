// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;
use serde_json::json;

const PLAN: &str = r#"
id = "x"
title = "t"
source = "Paper, Fig. 1"
profiles = ["tiny"]
operations = 10
default_scale = 1

[[claims]]
id = "AC-x-1"
claim = "a half, then all"
tolerance = "R10"
expected = [0.5, 1.0]

[[claims]]
id = "AC-x-2"
claim = "a above b"
tolerance = "ORD"
expected = "a > b"
source = "Paper, section 2"

[[claims]]
id = "AC-x-3"
claim = "78.4 %"
tolerance = "PP1"
expected = 78.4
evidence = "arithmetic"
cannot_follow = "3 commands are 192 bytes."
"#;

fn plan() -> Plan {
    Plan::parse(PLAN).unwrap()
}

fn book(plan: &Plan) -> Book<'_> {
    let mut book = Book::new(plan);
    book.numbers("AC-x-3", &[95.4], "");
    book
}

#[test]
fn numbers_are_judged_one_by_one() {
    let plan = plan();
    for (second, verdict) in [(0.95, Verdict::Pass), (0.85, Verdict::Fail)] {
        let mut book = book(&plan);
        book.numbers("AC-x-1", &[0.5, second], "because");
        book.order("AC-x-2", &[Part::new("a over b", 2.0, true)], "");
        let checks = book.finish();
        assert_eq!(checks[0].verdict, verdict);
        assert_eq!((&checks[0].measured, checks[0].note.as_str()), (&json!([0.5, second]), "because"));
        assert_eq!(checks[0].source, "Paper, Fig. 1");
    }
}

#[test]
fn an_order_names_what_it_missed() {
    let plan = plan();
    let mut book = book(&plan);
    book.numbers("AC-x-1", &[0.5, 1.0], "");
    let parts = [Part::within("a over b", 0.5, 1.0, 2.0), Part::new("b", 3.0, true)];
    book.order("AC-x-2", &parts, "b is slow.");
    let check = &book.finish()[1];
    assert_eq!(check.verdict, Verdict::Fail);
    assert_eq!(check.note, "missed: a over b. b is slow.");
    let a = json!({ "what": "a over b", "value": 0.5, "holds": false });
    assert_eq!(check.measured, json!([a, { "what": "b", "value": 3, "holds": true }]));
    assert_eq!((check.source.as_str(), check.tolerance.as_str()), ("Paper, section 2", "ORD"));
}

#[test]
fn a_part_without_a_number_does_not_hold() {
    let plan = plan();
    let mut book = book(&plan);
    book.numbers("AC-x-1", &[0.5, 1.0], "");
    book.order("AC-x-2", &[Part::new("a", f64::NAN, true)], "");
    assert_eq!(book.finish()[1].verdict, Verdict::Fail);
}

#[test]
fn a_claim_against_its_own_arithmetic_is_neither() {
    let plan = plan();
    let mut book = book(&plan);
    book.numbers("AC-x-1", &[0.5, 1.0], "");
    book.order("AC-x-2", &[Part::new("a", 1.0, true)], "");
    let check = &book.finish()[2];
    assert_eq!((check.verdict, check.note.as_str()), (Verdict::CannotFollow, "3 commands are 192 bytes."));
    assert_eq!(check.measured, json!(95.4));
}

#[test]
#[should_panic(expected = "AC-x-1 was not judged")]
fn every_claim_is_judged() {
    let plan = plan();
    let _ = book(&plan).finish();
}

#[test]
#[should_panic(expected = "judged twice")]
fn no_claim_is_judged_twice() {
    let plan = plan();
    book(&plan).numbers("AC-x-3", &[95.4], "");
}

#[test]
fn drawn_counts_are_shown_as_means() {
    let text = PLAN.replace("\"R10\"\nexpected = [0.5, 1.0]", "\"EXACT\"\nexpected = [404.8, 2.0]");
    let plan = Plan::parse(&text).unwrap();
    for (oracle, verdict) in [(4048, Verdict::Pass), (4047, Verdict::Fail)] {
        let mut book = book(&plan);
        book.drawn("AC-x-1", &[(4048, oracle), (20, 20)], 10, "");
        book.order("AC-x-2", &[Part::new("a", 1.0, true)], "");
        let check = &book.finish()[0];
        assert_eq!((check.verdict, &check.measured), (verdict, &json!([404.8, 2])));
    }
}
