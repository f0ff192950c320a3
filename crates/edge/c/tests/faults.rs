// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Faults around a program in C, `faults.c`: a device that is full, slow, out of reach or killed.

use saker_handle::create;
use saker_tcp::{Server, ServerConfig};
use saker_testing::Network;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Every engine has its own way to be full.
const ENGINES: [&str; 6] = ["hash_store", "hash_original", "hash_doubling", "hash_plus", "lsm", "tree"];

/// Set in the process that is killed: the device that it serves.
const KILLED: &str = "SAKER_TEST_C_DEVICE";

/// Serves where the parent has asked for it, until it is killed or a minute. Whether it was asked.
pub fn serve_if_asked() -> bool {
    let Ok(device) = std::env::var(KILLED) else { return false };
    let server = serve(&device);
    println!("{}", url(&server, None, "reconnect=0&timeout=2"));
    std::thread::sleep(std::time::Duration::from_secs(60));
    true
}

fn serve(device: &str) -> Server {
    let mut config = ServerConfig::new(device);
    config.listen = vec!["127.0.0.1:0".parse().expect("an address")];
    Server::start(config).expect("the server starts")
}

fn url(server: &Server, network: Option<&Network>, options: &str) -> String {
    let address = network.map_or(server.addresses()[0], Network::address);
    format!("tcp://{address}/{}?{options}", server.names()[0])
}

/// Runs the program; `act` does what it asks for. Panics if anything does not hold.
fn run(program: &Path, what: &str, url: &str, mut act: impl FnMut(&str)) {
    let mut command = Command::new(program);
    command.args([what, url]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let (mut input, output) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    for line in BufReader::new(output).lines() {
        act(&line.expect("read"));
        writeln!(input, "done").expect("it reads");
    }
    assert!(child.wait().expect("it ends").success(), "{what} {url}");
}

/// All faults in all places.
pub fn all(program: &Path, folder: &Path) {
    for engine in ENGINES {
        let memory = format!("mem:?size=8MiB&profile=tiny&engine={engine}");
        let image = folder.join(format!("{engine}.img"));
        create(&image, "8MiB", "tiny", engine, 1).expect("an image");
        let server = serve(&memory);
        for url in [&memory, &format!("file:{}", image.display()), &url(&server, None, "")] {
            run(program, "full", url, |_| {});
        }
    }
    lost(program);
    killed(program, folder);
    slow(program, folder);
}

fn lost(program: &Path) {
    for what in ["lost", "held"] {
        let server = serve("mem:?size=8MiB&profile=tiny");
        let network = Network::to(server.addresses()[0]);
        let url = url(&server, Some(&network), "reconnect=0&timeout=1");
        run(program, what, &url, |wish| match wish {
            "cut" => network.cut(),
            "hold" => network.hold(),
            _ => network.pass(),
        });
    }
}

fn killed(program: &Path, folder: &Path) {
    let image = folder.join("killed.img");
    create(&image, "8MiB", "tiny", "lsm", 1).expect("an image");
    let device = format!("file:{}", image.display());
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    let mut server: Child = command.env(KILLED, &device).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut url = String::new();
    BufReader::new(server.stdout.take().expect("piped")).read_line(&mut url).expect("read");
    run(program, "killed", url.trim_end(), |_| {
        server.kill().expect("kills");
        server.wait().expect("ends");
    });
    let store = saker_handle::Store::open(&device).expect("opens");
    assert!(store.exists(b"acknowledged").expect("read"), "it was acknowledged");
}

fn slow(program: &Path, folder: &Path) {
    let image = folder.join("slow.img");
    create(&image, "8MiB", "tiny", "hash_store", 1).expect("an image");
    let slow = "timing=real&fault.spike=1/1&fault.spike_ns=30000000";
    for url in [format!("mem:?size=8MiB&profile=tiny&{slow}"), format!("file:{}?{slow}", image.display())] {
        run(program, "slow", &url, |_| {});
    }
}
