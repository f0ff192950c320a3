//! A target as `saker serve` runs it.

use saker_tcp::{ConfigError, ServeError, Served, Server, ServerConfig, StopSignal};

use crate::commands::serve::{ServeArgs, Serving};
use crate::error::CliError;

/// Serves until a signal says stop; `ready` is told when hosts can connect.
pub(super) fn serve(args: &ServeArgs, ready: &mut dyn FnMut(&Serving)) -> Result<(), CliError> {
    let config = configuration(args)?;
    let stop =
        StopSignal::new().map_err(|error| CliError::failed(error.to_string(), "see the system's limits"))?;
    let server = Server::start(config).map_err(|error| failed(&error))?;
    ready(&Serving {
        addresses: server.addresses().iter().map(ToString::to_string).collect(),
        subsystems: server.names().to_vec(),
    });
    stop.wait();
    server.stop().map_err(|error| failed(&error))
}

/// The file if there is one, and the arguments on top.
fn configuration(args: &ServeArgs) -> Result<ServerConfig, CliError> {
    let (mut config, mut hosts_stated) = match &args.config {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(CliError::file("read", path))?;
            ServerConfig::parse(&text).map_err(|error| usage(&error))?
        }
        None => (ServerConfig::empty(), false),
    };
    let urls =
        args.image.iter().map(|image| format!("file:{}", image.display())).chain(args.url.iter().cloned());
    config.subsystems.extend(urls.map(|url| Served { url, nqn: None }));
    for served in &mut config.subsystems {
        add_options(&mut served.url, args);
    }
    if let (Some(nqn), [only]) = (&args.nqn, config.subsystems.as_mut_slice()) {
        only.nqn = Some(nqn.clone());
    } else if args.nqn.is_some() {
        return Err(CliError::usage("one name is given for several devices", "name them in a --config file"));
    }
    if !args.listen.is_empty() || config.listen.is_empty() {
        config.listen.clone_from(&args.listen);
    }
    if config.listen.is_empty() {
        config.listen.extend(saker_tcp::config::LISTEN_DEFAULT.parse::<std::net::SocketAddr>());
    }
    if !args.allow_host.is_empty() {
        config.hosts = saker_tcp::Hosts::Named(args.allow_host.clone());
    } else if args.allow_any_host {
        config.hosts = saker_tcp::Hosts::Any;
    }
    hosts_stated |= args.allow_any_host || !args.allow_host.is_empty();
    config.busy_poll |= args.busy_poll;
    config.check(hosts_stated).map_err(|error| usage(&error))?;
    Ok(config)
}

fn add_options(url: &mut String, args: &ServeArgs) {
    let timing = args.timing.iter().map(|timing| format!("timing={timing}"));
    let faults = args.fault.iter().map(|fault| format!("fault.{fault}"));
    for option in timing.chain(faults) {
        url.push(if url.contains('?') { '&' } else { '?' });
        url.push_str(&option);
    }
}

fn usage(error: &ConfigError) -> CliError {
    let text = error.to_string();
    let (what, todo) = text.split_once("; ").unwrap_or((&text, "see `saker serve --help`"));
    CliError::usage(what, todo)
}

fn failed(error: &ServeError) -> CliError {
    match error {
        ServeError::Device(error) => super::opened::refused(error),
        ServeError::Config(error) => usage(error),
        other => {
            let text = other.to_string();
            let (what, todo) = text.split_once("; ").unwrap_or((&text, "see `saker serve --help`"));
            CliError::failed(what, todo)
        }
    }
}
