// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Times of commands as files: one JSON line a command, or the trace event format that Perfetto and Chrome read.

use saker_sim::Instant;
use serde_json::{Value, json};
use std::io::{self, Write};

pub use saker_device::trace::CommandTrace;

/// Writes one JSON object a command: queue, identifier, opcode, status, begin, and nanoseconds of each part.
///
/// # Errors
/// Those of `out`.
pub fn json_lines(out: &mut dyn Write, traces: &[CommandTrace]) -> io::Result<()> {
    traces.iter().try_for_each(|trace| writeln!(out, "{}", line(trace)))
}

fn line(trace: &CommandTrace) -> Value {
    let spans: Vec<Value> =
        trace.spans.iter().map(|(part, length)| json!([part.name(), length.as_nanos()])).collect();
    json!({
        "qid": trace.qid, "cid": trace.cid, "opcode": trace.opcode,
        "status": format!("{:?}", trace.status), "begun_ns": nanos(trace.begun),
        "elapsed_ns": trace.elapsed().as_nanos(), "spans": spans,
    })
}

fn nanos(at: Instant) -> u64 {
    at.since(Instant::ZERO).as_nanos()
}

/// Writes a trace event document: a process for each queue, a thread for each command identifier, a slice for each
/// command and inside it one for each of its parts. Times are in microseconds, as the format asks.
///
/// # Errors
/// Those of `out`.
pub fn events(out: &mut dyn Write, traces: &[CommandTrace]) -> io::Result<()> {
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let mut first = true;
    for event in traces.iter().flat_map(command) {
        write!(out, "{}\n{event}", if first { "" } else { "," })?;
        first = false;
    }
    writeln!(out, "\n]}}")
}

fn command(trace: &CommandTrace) -> Vec<Value> {
    let slice = |name: String, begun: u64, length: u64| {
        json!({
            "name": name, "cat": "nvme", "ph": "X", "pid": trace.qid, "tid": trace.cid,
            "ts": begun as f64 / 1e3, "dur": length as f64 / 1e3,
        })
    };
    let mut at = nanos(trace.begun);
    let mut all = vec![slice(format!("opcode {:02x}h", trace.opcode), at, trace.elapsed().as_nanos())];
    for (part, length) in &trace.spans {
        all.push(slice(part.name().to_owned(), at, length.as_nanos()));
        at += length.as_nanos();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_device::trace::Part;
    use saker_nvme::Status;
    use saker_sim::Duration;

    fn trace() -> CommandTrace {
        let ns = Duration::from_nanos;
        CommandTrace {
            qid: 1,
            cid: 7,
            opcode: 0xC0,
            status: Status::SUCCESS,
            begun: Instant::from_nanos(2000),
            spans: vec![(Part::Fetch, ns(500)), (Part::Firmware, ns(1500))],
        }
    }

    #[test]
    fn a_line_has_every_part_in_order() {
        let mut out = Vec::new();
        json_lines(&mut out, &[trace(), trace()]).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 2);
        let line: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(line["spans"], json!([["fetch", 500], ["firmware", 1500]]));
        assert_eq!(
            (&line["begun_ns"], &line["elapsed_ns"], &line["opcode"]),
            (&json!(2000), &json!(2000), &json!(0xC0))
        );
    }

    #[test]
    fn parts_lie_inside_their_command_without_gaps() {
        let mut out = Vec::new();
        events(&mut out, &[trace()]).unwrap();
        let document: Value = serde_json::from_slice(&out).unwrap();
        let all = document["traceEvents"].as_array().unwrap();
        let times: Vec<(f64, f64)> =
            all.iter().map(|e| (e["ts"].as_f64().unwrap(), e["dur"].as_f64().unwrap())).collect();
        assert_eq!(times, [(2.0, 2.0), (2.0, 0.5), (2.5, 1.5)]);
        assert!(all.iter().all(|e| e["ph"] == "X" && e["pid"] == 1 && e["tid"] == 7));
        assert_eq!(all[0]["name"], "opcode c0h");
    }

    #[test]
    fn no_command_is_still_a_document() {
        let mut out = Vec::new();
        events(&mut out, &[]).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&out).unwrap()["traceEvents"], json!([]));
    }
}
