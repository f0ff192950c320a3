// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Authentication of a queue that has just been connected.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use saker_auth::{Host, HostError, HostSecrets, Names, Randomness};
use saker_nvme::fabrics::{AuthCommand, AuthDirection, auth_required};
use saker_nvme_tcp::initiator::Data;

use crate::error::RemoteError;
use crate::secrets::random_bytes;
use crate::wire::Wire;

/// Room for messages of the target.
const ROOM_BYTES: u32 = 4096;

/// Numbers of authentications: those of a process differ.
static TRANSACTION: AtomicU16 = AtomicU16::new(1);

/// Authenticates if the answer to Connect asks for it.
///
/// # Errors
/// [`RemoteError`]; also where the target is to authenticate and does not offer to.
pub(crate) fn authenticate(
    wire: &mut Wire,
    connect_dw0: u32,
    names: &Names,
    secrets: Option<&Arc<HostSecrets>>,
    timeout: Duration,
) -> Result<(), RemoteError> {
    let is_required = connect_dw0 & auth_required::TRANSACTION != 0;
    if connect_dw0 & auth_required::SECURE_CHANNEL != 0 {
        return Err(RemoteError::SecureChannel);
    }
    match secrets {
        Some(secrets) if is_required => run(wire, names, secrets, timeout),
        // Whoever cannot prove who it is would say that no proof is needed.
        Some(secrets) if secrets.controller.is_some() => Err(RemoteError::NoProof),
        None if is_required => Err(RemoteError::NoSecret),
        _ => Ok(()),
    }
}

fn run(wire: &mut Wire, names: &Names, secrets: &HostSecrets, timeout: Duration) -> Result<(), RemoteError> {
    let randomness = Randomness::new(&random_bytes());
    let transaction = TRANSACTION.fetch_add(1, Ordering::Relaxed);
    let mut host = Host::new(names, secrets, &randomness, transaction);
    send(wire, host.negotiate(), timeout)?;
    let challenge = receive(wire, timeout)?;
    let reply = or_farewell(wire, host.reply(&challenge), timeout)?;
    send(wire, reply, timeout)?;
    let success = receive(wire, timeout)?;
    match or_farewell(wire, host.success(&success), timeout)? {
        Some(message) => send(wire, message, timeout),
        None => Ok(()),
    }
}

/// Tells the target why it is left.
fn or_farewell<T>(
    wire: &mut Wire,
    result: Result<T, HostError>,
    timeout: Duration,
) -> Result<T, RemoteError> {
    result.map_err(|error| {
        if let HostError::Distrusted { farewell, .. } = &error {
            // It may have gone already.
            let _ = send(wire, farewell.clone(), timeout);
        }
        error.into()
    })
}

fn send(wire: &mut Wire, message: Vec<u8>, timeout: Duration) -> Result<(), RemoteError> {
    let command = AuthCommand { direction: AuthDirection::Send, bytes: message.len() as u32 };
    wire.execute(command.encode(), Data::Send(message), timeout).map(drop)
}

fn receive(wire: &mut Wire, timeout: Duration) -> Result<Vec<u8>, RemoteError> {
    let command = AuthCommand { direction: AuthDirection::Receive, bytes: ROOM_BYTES };
    wire.execute(command.encode(), Data::Receive(ROOM_BYTES), timeout).map(|answer| answer.data)
}
