import { existsSync } from 'node:fs';
import { expect } from 'chai';
import type { Mount } from '../../../src/workspaces/sandbox.js';
import { TestWorkspace, useSandbox, type NewProvider } from '../../support/sandbox.js';

const { signal } = new AbortController();

/** A mount with these files; `opened` counts how often its contents are asked for. */
export function mountOf(id: string, kind: Mount['kind'], target: string, files: Record<string, string>) {
  const counted = { opened: 0 };
  const mount: Mount = {
    ...{ id, kind, target, bytes: Buffer.byteLength(Object.values(files).join('')) },
    async *contents() {
      counted.opened += 1;
      for (const [path, content] of Object.entries(files)) yield { path, content: Buffer.from(content) };
    },
  };
  return { mount, counted };
}

/** Everything that is kept, with contents; times of links and folders are not. */
const LISTING = `cd /; find workspace tmp home/agent mnt/session/outputs -mindepth 1 \\( -type f -printf '%p %m %s %T@ ' -exec sha256sum {} \\; -o -type l -printf '%p -> %l\\n' -o -printf '%p %m\\n' \\) | sed -E 's/(\\.[0-9]{3})[0-9]+ /\\1 /' | sort`;

/** What every provider does: the table of tests over the interface. */
export function describeProvider(title: string, make: NewProvider): void {
  describe(title, () => {
    const sandbox = useSandbox(make);
    let sessions = 0;
    const workspace = (): TestWorkspace => new TestWorkspace(sandbox, `ses_p${(sessions += 1)}`);

    it(`${title} begins each command with what the one before has left, on its own disk and on another one`, async () => {
      const mine = workspace();
      const made = await mine.bash(
        `mkdir -p "a b/c"; echo one > "a b/c/x"; printf y > /tmp/y; ln -s "a b/c/x" link; ln -s /etc/passwd out; chmod 640 /tmp/y; chmod 750 "a b"; touch -d '2020-01-02 03:04:05.678' /tmp/y; echo h > ~/.h; echo o > /mnt/session/outputs/o; printf z > $'line\\nfeed'; chmod 000 "a b/c"`,
      );
      expect(made).to.include({ code: 0, output: '' });
      const here = (await mine.bash(LISTING)).output;
      expect(here)
        .to.match(/^tmp\/y 640 1 1577934245\.678 /m)
        .and.contain('workspace/link -> a b/c/x')
        .and.contain('workspace/a b/c 0');
      const other = await make(sandbox.test);
      try {
        const there = new TestWorkspace({ ...other }, 'ses_p_there');
        there.manifest = mine.manifest;
        expect((await there.bash(LISTING)).output).to.equal(here);
      } finally {
        await other.remove();
      }
    });

    it(`${title} begins with the stored version again when the changes of a command are not stored`, async () => {
      const mine = workspace();
      await mine.bash('echo kept > a');
      expect((await sandbox.bash('echo lost > a; rm -rf ~/*', { base: mine.manifest })).code).to.equal(0);
      const opened = await sandbox.provider.open(
        { sessionId: 'ses_p1', projectId: 'prj_a', base: mine.manifest, mounts: [] },
        signal,
      );
      const failure = await opened
        .close(() => Promise.reject(new Error('not stored')))
        .catch((error: Error) => error.message);
      expect(failure).to.equal('not stored');
      expect((await mine.bash('cat a; ls -d /tmp')).output).to.equal('kept\n/tmp\n');
    });

    it(`${title} passes on input, exit codes and the working directory, whatever its name`, async () => {
      const mine = workspace();
      expect(await mine.bash('cat', { stdin: Buffer.from('from outside') })).to.include({
        output: 'from outside',
        code: 0,
      });
      expect(await mine.bash(`mkdir $'a\\nb'; cd $'a\\nb'; exit 7`)).to.include({ code: 7, cwd: '/workspace/a\nb' });
      expect(await mine.bash('pwd', { cwd: '/workspace/a\nb' })).to.include({ output: '/workspace/a\nb\n' });
      expect(await mine.bash('rmdir "$PWD"', { cwd: '/workspace/a\nb' })).to.include({ code: 0 });
    });

    for (const [end, command, output, code] of [
      ['a trap of its own', `trap 'echo bye' EXIT; echo hi`, 'hi\nbye\n', 0],
      ['a trap of its own and exit', `trap 'echo bye' EXIT; exit 3`, 'bye\n', 3],
      ['exec', 'exec echo hi', 'hi\n', 0],
      ['a signal to itself', 'echo hi; kill -TERM $$', 'hi\n', 143],
      ['a signal that it cannot catch', 'echo hi; kill -KILL $$', 'hi\n', 137],
      ['an error under set -e', 'set -e; echo hi; false; echo no', 'hi\n', 1],
      ['a closed descriptor of each number', 'exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; echo hi', 'hi\n', 0],
    ] as const) {
      it(`${title} keeps the working directory and shows what the command wrote alone, when it ends by ${end}`, async () => {
        const mine = workspace();
        const ended = await mine.bash(`mkdir d; cd d; ${command}`);
        expect(ended).to.deep.include({ output, code, cwd: '/workspace/d' });
      });
    }

    it(`${title} goes back to /workspace when the working directory is gone, and has no trap and no variable of its own`, async () => {
      const mine = workspace();
      const gone = await mine.bash('mkdir -p a/b; cd a/b; rm -r ../../a; echo gone');
      expect(gone).to.include({ output: 'gone\n', cwd: '/workspace' });
      expect((await mine.bash('mkdir c; mv c d; cd d; mv ../d ../e')).cwd).to.equal('/workspace/e');
      const { output } = await mine.bash(
        'trap -p; echo $0 $# $SHLVL ${OLDPWD-none}; ls /proc/self/fd; compgen -A function',
      );
      expect(output).to.equal('bash 0 1 none\n0\n1\n2\n3\n');
    });

    it(`${title} has the settings of programs that are links into /etc, the names of its user and group, and no secrets`, async () => {
      const command = `for link in $(find /usr -xdev -type l -lname '/etc/*' ! -lname '*private*' ! -lname /etc/environment); do
          [ -e "$link" ] || echo "$link"; done
        python3 -c 'import grp, os; print(grp.getgrgid(os.getgid()).gr_name)'; id -un
        if command -v openssl >/dev/null; then openssl req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -days 1 -subj /CN=test 2>/dev/null && echo signed; else echo signed; fi
        ls -d /etc/shadow /etc/ssh /etc/ssl/private /etc/environment 2>/dev/null; touch /etc/x 2>/dev/null || echo refused`;
      const { output } = await workspace().bash(command, { timeoutMs: 60_000 });
      const expected = 'agent\nagent\nsigned\nrefused\n';
      expect(output.endsWith(expected), output).to.equal(true);
      // A program that was removed leaves links that lead nowhere.
      const missing = output.slice(0, -expected.length).split('\n').filter(Boolean);
      expect(missing.filter((link) => existsSync(link))).to.deep.equal([]);
    });

    it(`${title} knows itself by name, and no other machine`, async () => {
      const { output } = await workspace().bash(
        `python3 -c 'import socket; print(socket.getaddrinfo("localhost", 80)[0][4]); print(socket.gethostbyname(socket.gethostname()))'
        cat /etc/hosts; for file in /etc/resolv.conf /etc/hostname; do [ -e $file ] && echo $file; done; touch /etc/hosts 2>/dev/null || echo refused`,
      );
      expect(output).to.equal("('127.0.0.1', 80)\n127.0.0.1\n127.0.0.1 localhost sandbox\nrefused\n");
    });

    it(`${title} mounts skills and uploads read-only, and brings each to the disk once for all commands of a session`, async () => {
      const skill = mountOf('skill_1', 'folder', '/mnt/skills/report', {
        'SKILL.md': 'x',
        'scripts/run.sh': '#!/bin/sh\necho ran in "$(dirname "$0")"',
      });
      const uploads = ['a.txt', "it's ä.csv"].map((name, at) =>
        mountOf(`file_${at}`, 'file', `/mnt/session/uploads/${name}`, { '': name }),
      );
      const mounts = [skill, ...uploads].map(({ mount }) => mount);
      const command = `/mnt/skills/report/scripts/run.sh; cat /mnt/user-data/uploads/*; echo; ls -l /mnt/session/uploads | tail -n +2 | cut -c1-10; for f in /mnt/skills/report/SKILL.md /mnt/session/uploads/a.txt /mnt/skills/x /mnt/session/uploads/x; do : 2>/dev/null > $f || echo refused; done`;
      const mine = workspace();
      const { output } = await mine.bash(command, { mounts });
      expect(output.split('\n').filter((line) => !line.startsWith('bash:'))).to.deep.equal([
        'ran in /mnt/skills/report/scripts',
        "a.txtit's ä.csv",
        '-rw-r--r--',
        '-rw-r--r--',
        'refused',
        'refused',
        'refused',
        'refused',
        '',
      ]);
      await mine.bash('true', { mounts });
      expect([skill, ...uploads].map(({ counted }) => counted.opened)).to.deep.equal([1, 1, 1]);
      expect((await workspace().bash('ls -A /mnt/skills /mnt/session/uploads')).output).to.equal(
        '/mnt/session/uploads:\n\n/mnt/skills:\n',
      );
    });

    it(`${title} takes a thousand uploads`, async () => {
      const mounts = Array.from(
        { length: 1000 },
        (_, at) => mountOf(`many_${at}`, 'file', `/mnt/session/uploads/${at}`, { '': 'x' }).mount,
      );
      expect((await workspace().bash('ls /mnt/session/uploads | wc -l', { mounts })).output).to.equal('1000\n');
    });
  });
}
