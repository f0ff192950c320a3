//! From bytes to records.

use serde_json::Value;

use super::{RecordError, RecordFormat, RecordSet};

/// Largest key, in bytes.
const KEY_BYTES_MAX: usize = 255;

impl RecordFormat {
    /// The format that the first line with content shows: `{` for JSON lines, else a tab, else a `;`.
    ///
    /// # Errors
    /// No line with content, or one that shows none of them.
    pub fn guess(input: &[u8]) -> Result<Self, RecordError> {
        let Some((line, content)) = lines(input).next() else {
            return Err(fault(0, "the input has no records"));
        };
        match content {
            [b'{', ..] => Ok(Self::JsonLines),
            _ if content.contains(&b'\t') => Ok(Self::Separated(b'\t')),
            _ if content.contains(&b';') => Ok(Self::Separated(b';')),
            _ => Err(fault(line, "expected KEY<tab>VALUE, KEY;VALUE or a JSON object")),
        }
    }
}

impl RecordSet {
    /// Reads one record from each line that is not empty. Lines end with LF or CR LF.
    ///
    /// # Errors
    /// The first line that is no record.
    pub fn parse(input: &[u8], format: RecordFormat) -> Result<Self, RecordError> {
        let mut records = Self::default();
        for (line, content) in lines(input) {
            let added = match format {
                RecordFormat::Separated(byte) => records.add_separated(content, byte),
                RecordFormat::JsonLines => records.add_json(content),
            };
            added.map_err(|reason| fault(line, &reason))?;
        }
        Ok(records)
    }

    fn add_separated(&mut self, line: &[u8], separator: u8) -> Result<(), String> {
        let at = line.iter().position(|&b| b == separator).ok_or("no separator between key and value")?;
        let (key, rest) = line.split_at(at);
        self.add(key, rest.get(1..).unwrap_or_default())
    }

    fn add_json(&mut self, line: &[u8]) -> Result<(), String> {
        let parsed: Value = serde_json::from_slice(line).map_err(|e| format!("not JSON: {e}"))?;
        let key = parsed.get("key").and_then(Value::as_str).ok_or("no field `key` that is a string")?;
        match parsed.get("value").ok_or("no field `value`")? {
            Value::String(text) => self.add(key.as_bytes(), text.as_bytes()),
            other => self.add(key.as_bytes(), other.to_string().as_bytes()),
        }
    }

    fn add(&mut self, key: &[u8], value: &[u8]) -> Result<(), String> {
        match key.len() {
            0 => Err("the key is empty".to_owned()),
            1..=KEY_BYTES_MAX => {
                self.push(key, value);
                Ok(())
            }
            n => Err(format!("the key has {n} bytes: at most {KEY_BYTES_MAX} are possible")),
        }
    }
}

/// Lines with content and their numbers from 1.
fn lines(input: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let content = input.split(|&b| b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    content.enumerate().map(|(i, line)| (i + 1, line)).filter(|(_, line)| !line.is_empty())
}

fn fault(line: usize, reason: &str) -> RecordError {
    RecordError { line, reason: reason.to_owned() }
}
