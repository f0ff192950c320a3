// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The payload of Figure 1, by the program's own packer and parser.

use super::key;
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::report::Point;
use saker_nvme::group::{Form, Op, Packer, parse, payload_bytes};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    key_bytes: Vec<usize>,
    value_bytes: Vec<usize>,
    pairs: Vec<usize>,
    pair_key_bytes: usize,
    pair_value_bytes: usize,
}

/// Runs compound-fig1.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let form = Form::All(Op::Store);
    let mut buffer = vec![0; 4096];
    let mut packer = Packer::new(form, &mut buffer).expect("room for the count");
    for (n, (key_bytes, value_bytes)) in plan.key_bytes.iter().zip(&plan.value_bytes).enumerate() {
        packer.push(Op::Store, &key(n as u32, *key_bytes), &vec![1; *value_bytes]).expect("4 KiB are enough");
    }
    let bytes = packer.finish();
    let mut places = Vec::new();
    let read =
        parse(form, &buffer[..bytes], |e| places.push((e.key.start - 4, e.value.start - 4, e.value.start)));
    assert!(read.is_ok(), "the packer's payload is one");
    let figure = [places[1].1, places[2].0, places[2].1, places[2].2].map(f64::from);
    let mut point = Point::at([("payload", json!("Figure 1"))]);
    let names = ["value2_length_at", "key3_length_at", "value3_length_at", "value3_at"];
    names.iter().zip(figure).for_each(|(name, at)| point.add(name, at));
    point.add("payload_bytes", bytes as f64);
    let mut series = vec![point];
    let mut sizes = Vec::new();
    for pairs in &plan.pairs {
        let pair = (plan.pair_key_bytes, plan.pair_value_bytes);
        sizes.push(payload_bytes(Op::Store, std::iter::repeat_n(pair, *pairs)) as f64);
        let mut point = Point::at([("payload", json!(format!("{pairs} pairs")))]);
        point.add("payload_bytes", sizes[sizes.len() - 1]);
        series.push(point);
    }
    let mut book = cx.book();
    let all = [&figure[..], &[bytes as f64]].concat();
    book.numbers(
        "AC-compound-fig1-1",
        &all,
        "Without the padding that the text does not mention they would be 47, 61, 88, 92 and 604.",
    );
    book.numbers("AC-compound-fig1-2", &sizes, "");
    Ok(Outcome { checks: book.finish(), series })
}
