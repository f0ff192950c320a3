// SPDX-License-Identifier: Apache-2.0 OR MIT
// What node's redis client makes of a device that is full, slow or killed. usage: redis_faults.mjs SAKER FOLDER

import assert from 'node:assert';
import { execFileSync, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { rmSync } from 'node:fs';
import { createClient } from 'redis';

const [saker, folder] = process.argv.slice(2);
const image = `${folder}/faults.img`;

async function serve(url, listen = '127.0.0.1:0') {
    const child = spawn(saker, ['serve', '--quiet', '--url', url, '--resp', listen], { stdio: ['ignore', 'pipe', 'inherit'] });
    for await (const line of createInterface({ input: child.stdout })) {
        const port = /^serving redis:\/\/127.0.0.1:(\d+)/.exec(line);
        if (port) return { child, port: Number(port[1]) };
    }
    throw new Error('the server does not start');
}

async function kill({ child }) {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
}

async function connect(port, options = {}) {
    const client = createClient({ socket: { port, host: '127.0.0.1', reconnectStrategy: 50 }, ...options });
    client.on('error', () => {});
    await client.connect();
    return client;
}

function create(engine) {
    rmSync(image, { force: true });
    execFileSync(saker, ['create', image, '--size', '8MiB', '--profile', 'tiny', '--engine', engine]);
    return `file:${image}`;
}

for (const url of ['mem:?size=8MiB&profile=tiny', create('lsm')]) {
    const server = await serve(url);
    const client = await connect(server.port);
    const value = 'v'.repeat(20_000);
    const answers = await Promise.allSettled(Array.from({ length: 600 }, (_, n) => client.set(`key:${n}`, value)));
    const refused = answers.filter((answer) => answer.status === 'rejected');
    assert(refused.length > 10 && refused.length < 590, `${refused.length}`);
    refused.forEach((answer) => assert.match(answer.reason.message, /^OOM /));
    for (const [n, answer] of answers.entries()) {
        assert.equal(await client.exists(`key:${n}`), answer.status === 'fulfilled' ? 1 : 0);
    }
    client.destroy();
    await kill(server);
}

// Killed: what waits is refused by the client's own error; the same client finds what was acknowledged at the next server.
{
    const url = create('hash_store');
    const server = await serve(url);
    const client = await connect(server.port);
    await Promise.all(Array.from({ length: 500 }, (_, n) => client.set(`key:${n}`, `${n}`)));
    const waiting = Promise.allSettled(Array.from({ length: 500 }, (_, n) => client.set(`more:${n}`, `${n}`)));
    await kill(server);
    const next = await serve(url, `127.0.0.1:${server.port}`);
    for (const [n, answer] of (await waiting).entries()) {
        if (answer.status === 'fulfilled') assert.equal(await client.get(`more:${n}`), `${n}`);
        else assert.match(answer.reason.constructor.name, /Socket|Disconnect|Abort|Error/);
    }
    const values = await Promise.all(Array.from({ length: 500 }, (_, n) => client.get(`key:${n}`)));
    values.forEach((value, n) => assert.equal(value, `${n}`));
    client.destroy();
    await kill(next);
}

// Slow: the answer comes late, and is no failure.
{
    const server = await serve('mem:?size=16MiB&profile=tiny&timing=real&fault.spike=1/1&fault.spike_ns=100000000');
    const client = await connect(server.port);
    const begun = Date.now();
    await Promise.all(Array.from({ length: 24 }, (_, n) => client.set(`k${n}`, 'v'.repeat(20_000))));
    assert(Date.now() - begun >= 100);
    assert.equal((await client.get('k23')).length, 20_000);
    client.destroy();
    await kill(server);
}
process.exit(0);
