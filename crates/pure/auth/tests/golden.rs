// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Responses and shared secrets as an independent implementation (Python's `hmac`, `hashlib` and `pow`) computes them. The shared
//! secret of the pair of exponents here begins with a zero byte, which belongs to it.

use std::sync::Arc;

use saker_auth::{Controller, Credentials, GroupId, HashId, Host, HostSecrets, Randomness, Secret};

use crate::exchange::{names, settle};

/// A key of the bytes 0 to 31, as `nvme gen-dhchap-key --hmac=0` of nvme-cli 2.3 writes it.
const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:";
/// SHA-512 of "controller" and of "host 989".
const PRIVATE: [&str; 2] = [
    "97f290e0e91e6100d6ce63126e194320ba639f341f0a2baad88f5770d3fba91c09378a2cc80d8c7cdc5562345a19851927d88487ee0ffcfc67acf97dcf9eb668",
    "bed040421233fe294848a7e0e312f4e4267cc31e519011ebe069ae1663e3adbfb24c5702e37aa74a476e65f0191a40ba82cc82936a9d307855f3b7f9911fae8e",
];

struct Case {
    hash: HashId,
    group: GroupId,
    transform: &'static str,
    of_host: &'static str,
    of_controller: &'static str,
}

const CASES: [Case; 6] = [
    Case {
        hash: HashId::Sha256,
        group: GroupId::Null,
        transform: "00",
        of_host: "704824a91a03d31189a4e5de5594f260512af5867007dcd77d432788f78d1481",
        of_controller: "4d3f8cf6224b42eb52e3a7a12d55302ff99f7f93ec7340df391ea15c4a514bd9",
    },
    Case {
        hash: HashId::Sha256,
        group: GroupId::Ffdhe2048,
        transform: "00",
        of_host: "deb1cc885d40ecda132eb5ad0b5ada8cbfed7ee8f99b616f1f3bd6e853814673",
        of_controller: "44d1cb3b0e0e2b60f91cf26a5e92f3a8ee2770a51eda4c62e66f02eb4124133f",
    },
    Case {
        hash: HashId::Sha384,
        group: GroupId::Null,
        transform: "01",
        of_host: "70b5e585d659ea51e269e9f3d25f203b96a1ce9f6e5aa214e1b8478bfd0810d267fd47263ea3912c2ef02c703ed71df4",
        of_controller: "474dad020847c3f75db51035ed86d8aba01686d67cf6632bbdf46b38f9c8af40d7e01c7fca092f7ae0d6a12a6f5cc0cc",
    },
    Case {
        hash: HashId::Sha384,
        group: GroupId::Ffdhe2048,
        transform: "01",
        of_host: "367ced5e1a27210b05f3687833b35d849e1698bb1dc6a9683e11714c09e4b69153a39ca5f4142d2dd8df774c7c3ef531",
        of_controller: "d905b905b063355d48dac06589ca6ec1288ab1ed9a6a22a4aa1c5ce0f91eaca654450a6c1d6ea58da54e0b6a95d9f769",
    },
    Case {
        hash: HashId::Sha512,
        group: GroupId::Null,
        transform: "03",
        of_host: "f1e63669abf4369b462abc89c170645fdd593ab8e2f5a8b9d7f531b6b8e9061c06e5ba18c2b32e5ac258a4ad08ba78e10ce7053537a60e9433da3d347e4b6b6b",
        of_controller: "5eb59ed1dbf03d9e6832c25f7a235b2884c2ede240f8aadc0e6afd521c8cb0cda06de1efcf4460e925b476972313b60321196200ffb762a2f41b45be5b258043",
    },
    Case {
        hash: HashId::Sha512,
        group: GroupId::Ffdhe2048,
        transform: "03",
        of_host: "6a69d1410b72cb7e4568d282e3435961ce2e1c4cde13a2b8df2521eab4e1a3abcea4c65d3ed461c370fa4b862f1f7ddb0235ebe3cda78b578543c0eb66c51bdc",
        of_controller: "467676b6ef30b681f76502e6ac6675b16bf5a8c184b1a53f404f18f8f508c093ad0ddab9061cb1d95fcf12a2e73a465d1446c248a1203fdd53d5522310096afb",
    },
];

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// A private exponent, a challenge that counts from `first`, a sequence number.
fn randomness(private: &str, first: u8, sequence: [u8; 4]) -> Randomness {
    let mut all = bytes(private);
    all.extend((0..64).map(|n| first + n));
    all.extend(sequence);
    Randomness::new(&all.try_into().unwrap())
}

#[test]
fn both_ends_say_what_others_compute() {
    for Case { hash, group, transform, of_host, of_controller } in CASES {
        let secret = Secret::parse(&format!("DHHC-1:{transform}:{KEY}")).unwrap();
        let credentials = Credentials {
            host: vec![secret.clone()],
            controller: Some(secret.clone()),
            hashes: vec![hash],
            groups: vec![group],
        };
        let secrets = HostSecrets { host: secret.clone(), controller: Some(secret) };
        let names = names();
        let (ours, theirs) =
            (randomness(PRIVATE[0], 0x40, [1, 2, 3, 4]), randomness(PRIVATE[1], 0x80, [5, 6, 7, 8]));
        let mut controller = Controller::new(names.clone(), Arc::new(credentials));
        let mut host = Host::new(&names, &secrets, &theirs, 0x1234);
        settle(&mut controller, |c| c.send(&host.negotiate()));
        let challenge = settle(&mut controller, |c| c.receive(&ours)).1;
        let reply = host.reply(&challenge).unwrap();
        let hl = hash.bytes();
        assert_eq!(reply[16..16 + hl], bytes(of_host), "{hash:?} {group:?}");
        assert_eq!(reply.len(), 16 + 2 * hl + group.bytes());
        settle(&mut controller, |c| c.send(&reply));
        let success = settle(&mut controller, |c| c.receive(&ours)).1;
        assert_eq!(success[16..16 + hl], bytes(of_controller), "{hash:?} {group:?}");
        assert_eq!(host.success(&success).unwrap().map(|message| message.len()), Some(16));
    }
}
