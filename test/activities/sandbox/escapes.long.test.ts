import { existsSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import { processesWith } from '../../support/processes-with.js';
import { newClusterProvider } from '../../support/agent-sandbox.js';
import { newProvider, useSandbox } from '../../support/sandbox.js';
import type { TestStorage } from '../../support/storage.js';
import { skip } from '../../support/skip.js';

const lines = (text: string): string[] => text.trim().split('\n');

for (const [title, make] of [
  ['a command in a sandbox', undefined],
  ['a command in a sandbox of a pod', (test?: TestStorage) => newClusterProvider({}, test)],
] as const)
  describe(title, () => {
    before(function () {
      if (!existsSync('/usr/bin/python3')) skip(this, 'the attacks are written for /usr/bin/python3');
    });
    const sandbox = useSandbox(make);
    let contained = false;

    // The others attack: without these namespaces, one of them would end every process of this machine.
    it(`${title} is contained, as the machine sees it: in namespaces of its own, without rights, and never as root`, async () => {
      const mark = '1.7352';
      const running = sandbox.bash(`sleep ${mark}`);
      let found: number | undefined;
      await eventually('the command runs', async () => {
        found = processesWith(mark).find((pid) => readFileSync(`/proc/${pid}/comm`, 'latin1').trim() === 'sleep');
        return found !== undefined;
      });
      const status = readFileSync(`/proc/${found}/status`, 'latin1');
      for (const name of ['pid', 'net', 'user', 'mnt', 'ipc', 'uts']) {
        expect(readlinkSync(`/proc/${found}/ns/${name}`), name).to.not.equal(readlinkSync(`/proc/self/ns/${name}`));
      }
      expect(status).to.match(/^NSpid:\t\d+\t\d+$/m);
      expect(status)
        .to.match(/^CapEff:\t0+$/m)
        .and.match(/^NoNewPrivs:\t1$/m)
        .and.match(/^Seccomp:\t2$/m);
      const [, uid] = /^Uid:\t(\d+)/m.exec(status)!;
      expect(Number(uid)).to.be.greaterThan(0);
      if (process.getuid!() === 0) expect(Number(uid)).to.be.at.least(0x78000000);
      await running;
      contained = true;
    });

    describe('when it attacks', () => {
      before('it is known to be contained', () => expect(contained).to.equal(true));

      it(`${title} finds no variable, command line or descriptor of the service`, async () => {
        process.env.WORKER_SECRET = 'a-secret-of-the-worker';
        const { output } = await sandbox.bash(
          'cat /proc/*/environ | tr "\\0" "\\n"; echo; tr "\\0" " " < /proc/1/cmdline; echo; for p in /proc/[0-9]*; do readlink $p/exe $p/cwd $p/root; done; ls -l /proc/self/fd /proc/1/fd; env',
        );
        delete process.env.WORKER_SECRET;
        expect(output).to.not.contain('a-secret-of-the-worker').and.not.contain('DATABASE').and.not.contain('TEST_');
        expect(output).to.contain('bash -c exec 9>&2');
        expect(output).to.not.contain(process.cwd());
        // Process 1 reports the working directory through a socket, which no command can open.
        expect(output.match(/socket:/g)).to.have.length(1);
        const opened = await sandbox.bash('echo /tmp > /proc/1/fd/7; cat /proc/1/fd/7');
        expect(opened.output.match(/No such device or address/g)).to.have.length(2);
        expect(opened.cwd).to.equal('/workspace');
        const names = (await sandbox.bash('env | cut -d= -f1 | sort')).output;
        expect(lines(names)).to.deep.equal(['HOME', 'LANG', 'PATH', 'PWD', 'SHLVL', 'TMPDIR', 'TZ', 'USER', '_']);
      });

      it(`${title} reaches no network, no port of the machine, and no name`, async () => {
        const server = createServer((socket) => socket.end('reached')).listen(0);
        await new Promise((resolve) => server.once('listening', resolve));
        const { port } = server.address() as AddressInfo;
        const own = Object.values(networkInterfaces())
          .flat()
          .find((one) => one?.family === 'IPv4' && !one.internal);
        const targets = ['127.0.0.1', own?.address ?? '10.0.0.1', '169.254.169.254', '1.1.1.1'];
        for (const host of targets) {
          const { output, code } = await sandbox.bash(`exec 8<>/dev/tcp/${host}/${port}; cat <&8`, { timeoutMs: 5000 });
          expect(code, host).to.equal(1);
          expect(output, host)
            .to.match(/refused|unreachable/)
            .and.not.contain('reached');
        }
        expect((await sandbox.bash('getent hosts example.com', { timeoutMs: 5000 })).code).to.equal(2);
        expect(lines((await sandbox.bash('cat /proc/net/dev | tail -n +3')).output)).to.have.length(1);
        server.close();
      });

      it(`${title} opens no sockets but local ones, IP and netlink`, async () => {
        const script = `import socket
for family in (40, 17, 38, 21, 1, 2, 10, 16):
    try:
        socket.socket(family, socket.SOCK_STREAM if family in (1, 2, 10, 40) else socket.SOCK_RAW if family != 38 else socket.SOCK_SEQPACKET); print(family, 'open')
    except OSError as e: print(family, e.errno)`;
        const { output } = await sandbox.bash(`/usr/bin/python3 - <<'E'\n${script}\nE`);
        expect(lines(output)).to.deep.equal([
          '40 97',
          '17 97',
          '38 97',
          '21 97',
          '1 open',
          '2 open',
          '10 open',
          '16 open',
        ]);
      });

      it(`${title} gains no rights: no namespaces, mounts, tracing, keys, kernel messages, devices or settings`, async () => {
        const commands = [
          'unshare -Ur true',
          'unshare -m true',
          'mount -t tmpfs none /tmp',
          'nsenter -t 1 -m true',
          'dmesg',
          'su -c true',
          'mknod /tmp/d b 8 0',
          'echo 1 > /proc/sys/kernel/sysrq',
          'chroot /tmp',
          `/usr/bin/python3 -c "import ctypes; l = ctypes.CDLL(None, use_errno=True); exit(0 if l.syscall(101, 0, 0, 0, 0) == 0 or l.syscall(248, b'user', b'a', b'b', 1, -3) > 0 or l.syscall(321, 0, 0, 0) >= 0 or l.syscall(425, 1, 0) >= 0 else 1)"`,
        ];
        for (const command of commands) expect((await sandbox.bash(command)).code, command).to.be.greaterThan(0);
        const { output } = await sandbox.bash(
          'cp /bin/true /tmp/t && chmod 4755 /tmp/t && /tmp/t; grep -E "CapEff|NoNewPrivs|Seccomp:" /proc/self/status; id -u',
        );
        expect(output)
          .to.match(/CapEff:\t0{16}/)
          .and.match(/NoNewPrivs:\t1/)
          .and.match(/Seccomp:\t2/)
          .and.match(/\n1000\n$/);
      });

      it(`${title} writes to the kept folders and shared memory, and nowhere else`, async () => {
        const { output } = await sandbox.bash(
          'find / -xdev -type d -writable 2>/dev/null; for d in / /dev /etc /usr /mnt /mnt/skills /mnt/session /mnt/session/uploads /home /proc /sys /workspace /tmp /home/agent /mnt/session/outputs /dev/shm; do touch $d/x 2>/dev/null && echo "$d"; done',
        );
        const kept = ['/workspace', '/tmp', '/home/agent', '/mnt/session/outputs'];
        expect(new Set(lines(output))).to.deep.equal(new Set([...kept, '/dev/shm']));
        const shown = await sandbox.bash(
          'ls /; ls /root /home /var /boot /srv 2>&1; cat /etc/shadow; rm -rf /workspace; ls -d /workspace',
        );
        expect(shown.output)
          .to.contain('/workspace\n')
          .and.match(/shadow: No such file/);
        expect(shown.output).to.not.contain('root\n').and.not.contain('/var:\n').and.not.contain('/root:\n');
      });

      it(`${title} harms no process but its own`, async () => {
        for (const command of [
          'kill -9 -1',
          'kill -9 1',
          'kill -9 $PPID',
          'trap "" TERM INT HUP; kill -TERM 0; kill -9 $$',
        ]) {
          const { code } = await sandbox.bash(command, { timeoutMs: 5000 });
          expect(code, command).to.not.equal(null);
        }
        expect((await sandbox.bash('echo alive')).output).to.equal('alive\n');
      });

      it(`${title} leaves no process, however it hides`, async () => {
        const mark = '987.65';
        const hide = `trap "" TERM INT HUP; setsid nohup sleep ${mark} >/dev/null 2>&1 & (setsid sh -c "sleep ${mark} &" &) ; sleep 0.05; echo done`;
        const { output } = await sandbox.bash(hide);
        expect(output).to.equal('done\n');
        expect(processesWith(mark)).to.deep.equal([]);
        const stop = new AbortController();
        const running = sandbox
          .bash(`${hide}; sleep ${mark}`, { signal: stop.signal })
          .catch((error: unknown) => error);
        await eventually('it runs', async () => processesWith(mark).length > 2);
        const began = performance.now();
        stop.abort(new Error('cancelled'));
        expect(await running).to.have.property('message', 'cancelled');
        expect(processesWith(mark)).to.deep.equal([]);
        expect(performance.now() - began).to.be.lessThan(2000);
      });

      it(`${title} makes at most 256 processes, all gone with it, while another command runs`, async () => {
        const bomb = sandbox.bash(':(){ :|:& };:; for i in {1..400}; do sleep 77.31 & done; wait', {
          timeoutMs: 3000,
        });
        await sleep(500);
        expect((await sandbox.bash('echo beside')).output).to.equal('beside\n');
        expect(processesWith('sleep\x0077.31').length).to.be.at.most(256);
        await bomb;
        expect(processesWith('77.31')).to.deep.equal([]);
      });

      it(`${title} is stopped for memory, be it one process, many, or shared memory that no process maps`, async () => {
        const one = await sandbox.bash(`/usr/bin/python3 -c "x = bytearray(3 << 30)"`);
        expect(one.output).to.contain('MemoryError');
        const many =
          'for i in 1 2 3 4 5 6; do /usr/bin/python3 -c "import time; x = bytearray(200 << 20); time.sleep(20)" & done; wait';
        expect(await sandbox.bash(many)).to.include({ stopped: 'memory', code: null });
        const shared = `/usr/bin/python3 -c "import mmap, time; all = [mmap.mmap(-1, 140 << 20) for i in range(6)]; [m.write(b'x' * (140 << 20)) for m in all]; time.sleep(20)"`;
        expect(await sandbox.bash(shared)).to.include({ stopped: 'memory' });
        const hidden = `/usr/bin/python3 -c "import os; os.memfd_create('x')"`;
        expect((await sandbox.bash(hidden)).output).to.contain('OSError');
        expect((await sandbox.bash('head -c 100M /dev/zero > /dev/shm/x')).output).to.contain('No space left');
      });

      it(`${title} is stopped for memory that children of threads take, page tables, and buffers of sockets`, async () => {
        const threads = `/usr/bin/python3 - <<'E'
import subprocess, threading
hog = ['/usr/bin/python3', '-c', 'import time; x = bytearray(200 << 20); time.sleep(20)']
all = [threading.Thread(target=subprocess.run, args=(hog,)) for i in range(6)]
[one.start() for one in all]
[one.join() for one in all]
E`;
        expect(await sandbox.bash(threads)).to.include({ stopped: 'memory' });
        const tables = `/usr/bin/python3 - <<'E'
import mmap, os, time
for i in range(8):
    if os.fork() == 0:
        m = mmap.mmap(-1, 64 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)
        for at in range(0, 64 << 30, 2 << 20): m[at]
        time.sleep(20)
time.sleep(20)
E`;
        expect(await sandbox.bash(tables)).to.include({ stopped: 'memory' });
        const sockets = `/usr/bin/python3 - <<'E'
import os, socket, time
for i in range(8):
    if os.fork() == 0:
        kept = []
        try:
            while True:
                for one in socket.socketpair():
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24)
                    one.setblocking(False)
                    kept.append(one)
                    try:
                        while one.send(bytes(32768)): pass
                    except BlockingIOError: pass
        except OSError: time.sleep(20)
time.sleep(20)
E`;
        expect(await sandbox.bash(sockets)).to.include({ stopped: 'memory' });
      });

      it(`${title} may have processes that share their pages: each counts for its part`, async () => {
        const script = `/usr/bin/python3 - <<'E'
import os, time
data = bytearray(300 << 20)
for i in range(4):
    if os.fork() == 0:
        sum(data[:1000]); time.sleep(1); os._exit(0)
for i in range(4): os.wait()
print('done')
E`;
        expect(await sandbox.bash(script)).to.include({ stopped: null, output: 'done\n' });
      });

      it(`${title} is stopped for disk, and cannot write a file of more than 512 MiB`, async () => {
        expect(await sandbox.bash('for i in {1..9}; do head -c 100M /dev/zero > f$i; done; sleep 20')).to.include({
          stopped: 'disk',
        });
        expect(await sandbox.bash('truncate -s 10G x')).to.include({ stopped: null, code: 153 });
        expect(await sandbox.bash('mkdir many; cd many; for i in {1..30000}; do > f$i; done; sleep 20')).to.include({
          stopped: 'disk',
        });
      });

      it(`${title} passes links of its tree to nobody outside`, async () => {
        const opened = await sandbox.provider.open(
          { sessionId: 'links', projectId: 'prj_a', base: { entries: [], packs: [], delivered: null }, mounts: [] },
          new AbortController().signal,
        );
        const io = {
          cwd: '/workspace',
          stdin: null,
          timeoutMs: 9000,
          onOutput: () => undefined,
          signal: new AbortController().signal,
        };
        await opened.run(
          ['bash', '-c', 'ln -s /etc/passwd a; ln -s / r; ln -s /proc/1/environ e; rm -rf /tmp/*; ln -s /etc /tmp/etc'],
          io,
        );
        const entries = await opened.close(async (scanned) => scanned.entries);
        expect(entries!.map(({ kind }) => kind)).to.deep.equal(['symlink', 'symlink', 'symlink', 'symlink']);
      });
    });

    it(`${title} ends with its bash: a child in the background that holds the output does not delay it`, async () => {
      const began = performance.now();
      expect(await sandbox.bash('sleep 60 & echo done')).to.include({ output: 'done\n', code: 0 });
      expect(performance.now() - began).to.be.lessThan(5000);
    });

    it(`${title} may open its standard error by name, and sees both outputs in order`, async () => {
      const { output, code } = await sandbox.bash(
        'echo 1; echo 2 > /dev/stderr; echo 3 >&2; echo 4 > /dev/stdout; cat; exit 3',
      );
      expect({ output, code }).to.deep.equal({ output: '1\n2\n3\n4\n', code: 3 });
    });

    it(`${title} has its exit code, 128 + n for a signal, its last working directory, and is stopped at its timeout`, async () => {
      expect(await sandbox.bash('cd /tmp; exit 4')).to.include({ code: 4, cwd: '/tmp' });
      expect(await sandbox.bash('kill -9 $$')).to.include({ code: 137, cwd: '/workspace' });
      expect(await sandbox.bash('mkdir a; cd a; pwd', { cwd: '/gone' })).to.include({
        output: '/workspace/a\n',
        cwd: '/workspace/a',
      });
      expect(await sandbox.bash('echo before; sleep 60', { timeoutMs: 500 })).to.include({
        output: 'before\n',
        stopped: 'timeout',
      });
    });

    it(`${title} has lower priority than the service, and umask 022`, async () => {
      expect((await sandbox.bash('nice; umask')).output).to.equal('10\n0022\n');
    });
  });

describe('a command of a sandbox with little memory', () => {
  // A group of the kernel lets the write fail.
  const watched = { cgroups: false, images: false };
  const sandbox = useSandbox((test) => newProvider({ sandboxMemoryMb: 170 }, test, watched));

  it('a command of a sandbox with little memory is stopped for what its pipes hold', async () => {
    const pipes = `/usr/bin/python3 - <<'E'
import os, time
for i in range(20):
    if os.fork() == 0:
        kept = []
        try:
            while True:
                kept.append(os.pipe())
                os.set_blocking(kept[-1][1], False)
                try:
                    while True: os.write(kept[-1][1], bytes(4096))
                except BlockingIOError: pass
        except OSError: time.sleep(4); os._exit(0)
for i in range(20): os.wait()
print('done')
E`;
    expect(await sandbox.bash(pipes)).to.include({ stopped: 'memory' });
  });

  it('a command of a sandbox with little memory may have many files open, and pipelines', async () => {
    const files = `/usr/bin/python3 - <<'E'
import os, time
kept = [os.open('/dev/null', os.O_RDONLY) for i in range(1000)]
for i in range(7):
    if os.fork() == 0: time.sleep(1); os._exit(0)
for i in range(7): os.wait()
print('done')
E`;
    expect(await sandbox.bash(files)).to.include({ stopped: null, output: 'done\n' });
    const pipeline = `seq 100000 ${'| cat '.repeat(20)} | tail -n 1; sleep 0.3`;
    expect(await sandbox.bash(pipeline)).to.include({ stopped: null, output: '100000\n' });
  });
});
