// A client of the protocol by others, from npm, against `rocm-perf mcp`.
// usage: node peer.mjs handshake|stateless ROCM_PERF SOURCE FOLDER_WITH_NODE_MODULES
// handshake: @modelcontextprotocol/sdk, version 2025-11-25; stateless: @modelcontextprotocol/client, 2026-07-28.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [era, rocmPerf, source, peer] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(path.join(peer, 'node_modules/@modelcontextprotocol', file)));
const stateless = era === 'stateless';
const { Client } = await load(stateless ? 'client/dist/index.mjs' : 'sdk/dist/esm/client/index.js');
const { StdioClientTransport } = await load(stateless ? 'client/dist/stdio.mjs' : 'sdk/dist/esm/client/stdio.js');

const isThere = (pid) => {
    try {
        return fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(')').pop().trim()[0] !== 'Z';
    } catch {
        return false;
    }
};

const connect = async (...options) => {
    const client = new Client({ name: 'peer', version: '1' },
        stateless ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {});
    client.onerror = (error) => { throw error; };
    await client.connect(new StdioClientTransport({ command: rocmPerf, args: ['mcp', '--allow', source, '--allow', os.tmpdir(), ...options], env: process.env }));
    assert.equal(client.getServerVersion().name, 'rocm-perf-lab');
    return client;
};
const callOf = (client) => (name, args, more) => {
    const options = { timeout: 300000, ...more }; // the machine may be busy
    return stateless ? client.callTool({ name, arguments: args }, options)
        : client.callTool({ name, arguments: args }, undefined, options);
};
const trace = path.join(source, 'tests/data/rocpd/streams-hip_results.db');

// With the option the client compiles the output schemas, and holds the results against them.
const strict = await connect('--output-schemas');
const { tools: whole } = await strict.listTools();
assert.ok(whole.find((tool) => tool.name === 'compare').outputSchema);
for (const [name, args] of [['doctor', {}], ['compare', { results: [trace, trace] }]]) {
    const { structuredContent, isError } = await callOf(strict)(name, args);
    assert.ok(structuredContent && !isError);
}
await strict.close();

const client = await connect();
const { tools } = await client.listTools();
assert.deepEqual(tools.map((tool) => tool.name).sort(), ['analyze', 'autotune', 'bench', 'ci', 'compare', 'doctor', 'history', 'isolate',
    'judge', 'optimize', 'profile', 'replay', 'report', 'why']);
assert.ok(!tools.some((tool) => tool.outputSchema));
const call = callOf(client);
const steps = [];
const doctor = await call('doctor', {}, { onprogress: (step) => steps.push(step) });
assert.equal(doctor.structuredContent.ready, true);
assert.equal(steps[0].message, 'started');
const compared = await call('compare', { results: [trace, trace], gates: ['dispatches<=0'] });
assert.equal(compared.isError, false);
assert.match(compared.content.at(-1).text, /negative verdict/);
const wrong = await call('analyze', { traces: [] });
assert.equal(wrong.isError, true);

// The result of a call by its resource, as the text of the answer names it; and what is no resource.
const analyzed = await call('analyze', { traces: [trace] });
const [uri] = /rocm-perf:\/\/calls\/\d+/.exec(analyzed.content[0].text);
const pages = [];
for (let page = 1, last = 1; page <= last; page++) {
    const { contents } = await client.readResource({ uri: `${uri}?page=${page}` });
    last = contents[0]._meta?.['rocm-perf/pages'] ?? 1;
    pages.push(contents[0].text);
}
assert.deepEqual(JSON.parse(pages.join('')), analyzed.structuredContent);
const { resources } = await client.listResources();
assert.ok(resources.some((resource) => resource.uri === uri));
const { resourceTemplates } = await client.listResourceTemplates();
assert.ok(resourceTemplates.some(({ uriTemplate }) => uriTemplate.startsWith('rocm-perf://calls/')));
await assert.rejects(client.readResource({ uri: 'rocm-perf://calls/99' }),
    (error) => error.code === (stateless ? -32602 : -32002));

// A cancelled call: nothing is left when the next one is answered.
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'peer-'));
const program = path.join(folder, 'stays');
fs.writeFileSync(program, '#!/bin/sh\nwhile :; do echo "number $$ runs"; sleep 1; done\n', { mode: 0o755 });
const abort = new AbortController();
let pid = 0;
await assert.rejects(call('profile', { program, directory: folder }, {
    signal: abort.signal,
    onprogress: ({ message }) => {
        pid ||= Number(/number (\d+) runs/.exec(message)?.[1] ?? 0);
        if (pid && !abort.signal.aborted) {
            assert.ok(isThere(pid));
            abort.abort('enough');
        }
    },
}));
assert.ok(pid);
await call('doctor', {});
assert.ok(!isThere(pid));
fs.rmSync(folder, { recursive: true });
await client.close();
