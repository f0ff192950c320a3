// SPDX-License-Identifier: Apache-2.0 OR MIT
// node's redis client, as its users call it, on a port of `saker serve --resp`.

import assert from 'node:assert';
import { createClient } from 'redis';

const url = `redis://127.0.0.1:${process.argv[2]}`;

for (const RESP of [2, 3]) {
    const client = createClient({ url, RESP });
    client.on('error', (error) => { throw error; });
    await client.connect();
    await client.flushDb();
    assert.equal(await client.ping(), 'PONG');
    assert.equal(await client.set('k', 'v'), 'OK');
    assert.equal(await client.get('k'), 'v');
    assert.equal(await client.get('none'), null);
    assert.equal(await client.set('k', 'w', { NX: true }), null);
    await client.mSet({ a: '1', b: '2' });
    assert.deepEqual(await client.mGet(['a', 'none', 'b']), ['1', null, '2']);
    assert.equal(await client.del(['a', 'b', 'none']), 2);
    // The client sends what is asked in one turn as one pipeline.
    await Promise.all(Array.from({ length: 2000 }, (_, n) => client.set(`key:${n}`, `${n}`)));
    const values = await Promise.all(Array.from({ length: 2000 }, (_, n) => client.get(`key:${n}`)));
    values.forEach((value, n) => assert.equal(value, `${n}`));
    let found = 0;
    for await (const keys of client.scanIterator({ MATCH: 'key:*', COUNT: 100 })) found += [keys].flat().length;
    assert.equal(found, 2000);
    assert.equal(await client.dbSize(), 2001);
    assert.equal(await client.wait(1, 100), 1);
    await assert.rejects(client.incr('k'), /unknown command/);
    await client.close();
}
