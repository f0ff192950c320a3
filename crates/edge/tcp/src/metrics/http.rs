// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One client of the endpoint: a request, an answer, and the connection ends.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::request::{Asked, HEAD_BYTES_MAX, judge};

/// How long a client may take to ask, and to read.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes read at once.
const READ_BYTES: usize = 1 << 10;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const CLASSIC: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What a client asks for; `None`: it asks for nothing in time.
pub(super) async fn asked(stream: &mut TcpStream) -> Option<Asked> {
    timeout(PATIENCE, read(stream)).await.ok()?.ok()
}

async fn read(stream: &mut TcpStream) -> io::Result<Asked> {
    let (mut head, mut bytes) = (Vec::new(), [0; READ_BYTES]);
    loop {
        let count = stream.read(&mut bytes).await?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        head.extend_from_slice(&bytes[..count.min(HEAD_BYTES_MAX + 4 - head.len().min(HEAD_BYTES_MAX))]);
        match judge(&head) {
            Asked::More => {}
            asked => return Ok(asked),
        }
    }
}

/// Answers, and ends the connection.
pub(super) async fn answer(mut stream: TcpStream, asked: Asked, metrics: Option<String>) {
    let (status, kind, body) = match (asked, metrics) {
        (Asked::Metrics { open: true }, Some(text)) => ("200 OK", OPEN_METRICS, text),
        (Asked::Metrics { open: false }, Some(text)) => ("200 OK", CLASSIC, text),
        (Asked::NotFound, _) => ("404 Not Found", CLASSIC, "metrics are at /metrics\n".into()),
        (Asked::NotAllowed, _) => {
            ("405 Method Not Allowed\r\nAllow: GET", CLASSIC, "GET is all there is\n".into())
        }
        (Asked::TooLong, _) => ("431 Request Header Fields Too Large", CLASSIC, String::new()),
        _ => ("400 Bad Request", CLASSIC, String::new()),
    };
    let bytes = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {bytes}\r\nConnection: close\r\n\r\n"
    );
    let sent = async {
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        stream.shutdown().await
    };
    // A client that has gone, or does not read, gets nothing.
    let _ = timeout(PATIENCE, sent).await;
}
