import { expect } from 'chai';
import { skillMd, zip } from '../src/skills/zip.js';
import { upload } from '../support/upload.js';
import { useWorkspaceService } from '../support/workspace-service.js';

type Files = Record<string, string>;

/**
 * Packages with scripts, built as those are that are published for agents: what their scripts expect of the place where they run. They
 * need no more than bash, coreutils, tar, awk and perl.
 */
describe('a skill with scripts', () => {
  const { service, session, calls } = useWorkspaceService();

  const skill = async (name: string, files: Files): Promise<string> => {
    const form = new FormData();
    const entries = Object.entries({ 'SKILL.md': skillMd(name), ...files });
    const bytes = zip(entries.map(([path, content]) => ({ name: path, content })));
    form.set('file', new Blob([new Uint8Array(bytes)]), `${name}.zip`);
    const { status, body } = await service.api('POST', '/v1/skills', form);
    expect(status, JSON.stringify(body)).to.equal(201);
    return body.id as string;
  };
  /** One turn that uses the skill and runs these commands. Returns the text of each result, and what was delivered. */
  const use = async (
    name: string,
    files: Files,
    commands: string[],
    attachments: string[] = [],
  ): Promise<{ texts: string[]; delivered: Record<string, string>; id: string }> => {
    const id = await session();
    const events = await calls(
      id,
      [['use_skill', { name }], ...commands.map((command): [string, { command: string }] => ['bash', { command }])],
      { skills: [await skill(name, files)], files: attachments },
    );
    const results = events.filter(({ type }) => type === 'agent.tool_result').slice(1);
    const failed = results.filter(({ is_error }) => is_error).map(({ content }) => content as string);
    expect(failed).to.deep.equal([]);
    const delivered: Record<string, string> = {};
    for (const { type, file } of events) {
      if (type !== 'agent.file') continue;
      const answer = await fetch(`${service.url}/v1/files/${file.id}/content`, {
        headers: { authorization: `Bearer ${service.key}` },
      });
      delivered[file.filename as string] = await answer.text();
    }
    return { texts: results.map(({ content }) => content as string), delivered, id };
  };

  it('a skill with scripts fills a form: several scripts, one after the other, on an attachment and files between them', async () => {
    const form = (await upload(service, 'form.txt', 'name: [ ]\ncity: [ ]\n')).body.id as string;
    const { texts, delivered } = await use(
      'forms',
      {
        'scripts/check_fields.sh': '#!/bin/bash\ngrep -c "\\[ \\]" "$1"\n',
        'scripts/extract_fields.sh': '#!/bin/bash\nawk -F: \'/\\[ \\]/ {print $1}\' "$1" > "$2"\n',
        'scripts/fill_fields.sh':
          '#!/bin/bash\nset -e\ncp "$1" "$3"\nwhile IFS== read -r key value; do sed -i "s/^$key: \\[ \\]/$key: $value/" "$3"; done < "$2"\n',
        'reference.md': 'Fields are in brackets.',
      },
      [
        '/mnt/skills/forms/scripts/check_fields.sh /mnt/session/uploads/form.txt',
        '/mnt/skills/forms/scripts/extract_fields.sh /mnt/session/uploads/form.txt fields.txt && cat fields.txt',
        'printf "name=Ada\\ncity=London\\n" > values.txt && /mnt/skills/forms/scripts/fill_fields.sh /mnt/session/uploads/form.txt values.txt /mnt/user-data/outputs/filled.txt',
      ],
      [form],
    );
    expect(texts.slice(0, 2)).to.deep.equal(['2\n', 'name\ncity\n']);
    expect(delivered).to.deep.equal({ 'filled.txt': 'name: Ada\ncity: London\n' });
  });

  it('a skill with scripts unpacks a document, changes a part of it and packs it, by scripts that load each other', async () => {
    const { texts, delivered } = await use(
      'office',
      {
        'scripts/office/common.sh': 'need() { [ -e "$1" ] || { echo "no $1" >&2; exit 2; }; }\n',
        'scripts/office/unpack.sh':
          '#!/bin/bash\nsource "$(dirname "$0")/common.sh"\nneed "$1"; mkdir -p "$2"; tar xf "$1" -C "$2"; find "$2" -type f | sort\n',
        'scripts/office/pack.sh': '#!/bin/bash\nsource "$(dirname "$0")/common.sh"\nneed "$1"; tar cf "$2" -C "$1" .\n',
        'assets/styles.xml': '<styles/>',
      },
      [
        'mkdir src && echo "<text>draft</text>" > src/document.xml && cp /mnt/skills/office/assets/styles.xml src/ && tar cf in.docx -C src .',
        'bash /mnt/skills/office/scripts/office/unpack.sh in.docx unpacked',
        'sed -i s/draft/final/ unpacked/document.xml && bash /mnt/skills/office/scripts/office/pack.sh unpacked out.docx && tar xOf out.docx ./document.xml | tee /mnt/session/outputs/document.xml',
      ],
    );
    expect(texts[1]).to.equal('unpacked/document.xml\nunpacked/styles.xml\n');
    expect(delivered).to.deep.equal({ 'document.xml': '<text>final</text>\n' });
  });

  it('a skill with scripts keeps a profile in the home folder and in /tmp, and bounds its own time', async () => {
    const { texts } = await use(
      'sheets',
      {
        'recalc.sh':
          '#!/bin/bash\nprofile="$HOME/.config/sheets"\nif [ ! -e "$profile/macro" ]; then mkdir -p "$profile"; echo macro > "$profile/macro"; echo installed; fi\nmktemp /tmp/sheet.XXXX > /dev/null\ntimeout "${2:-30}" awk -F, \'{sum += $2} END {print "total", sum}\' "$1"\n',
      },
      [
        'printf "a,1\\nb,41\\n" > output.csv; bash /mnt/skills/sheets/recalc.sh output.csv 30',
        'bash /mnt/skills/sheets/recalc.sh output.csv; ls /tmp/sheet.* | wc -l',
      ],
    );
    expect(texts).to.deep.equal(['installed\ntotal 42\n', 'total 42\n2\n']);
  });

  it('a skill with scripts starts a server on the loopback, tests it, and leaves nothing of it running', async () => {
    const { texts } = await use(
      'webapp',
      {
        'scripts/with_server.sh': `#!/bin/bash
# with_server.sh --server COMMAND --port N -- COMMAND…
while [ "$1" != -- ]; do case "$1" in --server) server="$2";; --port) port="$2";; esac; shift 2; done; shift
eval "$server" & pid=$!
for _ in $(seq 100); do (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break; sleep 0.1; done
"$@"; code=$?; kill $pid 2>/dev/null; exit $code
`,
        'examples/server.pl':
          'use IO::Socket::INET; my $s = IO::Socket::INET->new(LocalAddr => "127.0.0.1", LocalPort => $ARGV[0], Listen => 5, ReuseAddr => 1) or die "$!"; while (my $c = $s->accept) { while (my $l = <$c>) { last if $l =~ /^\\r/ } print $c "HTTP/1.0 200 OK\\r\\n\\r\\nhello"; close $c; }',
        'examples/get.sh':
          '#!/bin/bash\nexec 3<>"/dev/tcp/127.0.0.1/$1"; printf "GET / HTTP/1.0\\r\\n\\r\\n" >&3; tail -n 1 <&3\n',
      },
      [
        'S=/mnt/skills/webapp; bash $S/scripts/with_server.sh --server "perl $S/examples/server.pl 5173" --port 5173 -- bash $S/examples/get.sh 5173',
        '(exec 3<>/dev/tcp/127.0.0.1/5173) 2>/dev/null && echo there || echo gone',
      ],
    );
    expect(texts).to.deep.equal(['hello', 'gone\n']);
  });

  it('a skill with scripts creates a project from templates with links and modes, after copying itself to where it can write', async () => {
    const { texts, id } = await use(
      'artifacts',
      {
        'scripts/init.sh': `#!/bin/bash
set -e
here="$(cd "$(dirname "$0")/.." && pwd)"
mkdir -p "$1/bin" "$1/src"; cp "$here/templates/main.txt" "$1/src/"; ln -s ../src/main.txt "$1/bin/main"
printf '#!/bin/bash\\necho runs in %s\\n' "$1" > "$1/bin/start"; chmod 755 "$1/bin/start"
`,
        'templates/main.txt': 'template\n',
      },
      [
        'touch /mnt/skills/artifacts/x 2>/dev/null || { cp -r /mnt/skills/artifacts /tmp/skill && echo changed >> /tmp/skill/templates/main.txt; }',
        'bash /tmp/skill/scripts/init.sh app',
        './app/bin/start && cat app/bin/main',
      ],
    );
    expect(texts[2]).to.equal('runs in app\ntemplate\nchanged\n');
    const { body } = await service.api('GET', `/v1/sessions/${id}/workspace/files?path=/workspace/app/bin`);
    expect(
      body.items.map(({ path, type, mode, target }: Record<string, string>) => [path, type, mode, target]),
    ).to.deep.equal([
      ['/workspace/app/bin/main', 'symlink', '0777', '../src/main.txt'],
      ['/workspace/app/bin/start', 'file', '0755', null],
    ]);
  });
});
