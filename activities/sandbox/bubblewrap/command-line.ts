import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { HOME, KEPT_FOLDERS, SKILLS, UPLOADS, WORKSPACE } from '../../../src/workspaces/layout.js';
import { MIB } from '../../../src/platform/units.js';
import { SHOWN_ETC } from './linked-etc.js';

/** Descriptors of the outer shell that bwrap and the command's shell use. */
export const DESCRIPTORS = {
  filter: 3,
  options: 4,
  passwd: 5,
  status: 6,
  report: 7,
  go: 8,
  alive: 9,
  group: 10,
  hosts: 11,
} as const;

/** The user `agent` as the sandbox sees it; on the machine it is another one. */
const AGENT = 1000;
export const PASSWD = `root:x:0:0:root:/root:/usr/sbin/nologin\nagent:x:${AGENT}:${AGENT}:agent:${HOME}:/bin/bash\n`;
export const GROUP = `root:x:0:\nagent:x:${AGENT}:\n`;
/** Programs find their own servers by name. There is no other machine. */
export const HOSTS = '127.0.0.1 localhost sandbox\n';
export const PATH = '/usr/local/bin:/usr/bin:/bin';
const ENVIRONMENT = { PATH, HOME, USER: 'agent', LANG: 'C.UTF-8', TZ: 'UTC', TMPDIR: '/tmp' };
const SHARED_MEMORY = 64 * MIB;

export const MAX_PROCESSES = 256;
const MAX_OPEN_FILES = 1024;
const MAX_FILE_BYTES = 512 * MIB;
/** Commands yield to the service. */
const NICE = 10;

/** The command line of the machine's kernel: a device that cannot be opened is in its place. gVisor has one of its own. */
const MASKED = ['--ro-bind', '/dev/null', '/proc/cmdline'];

interface SandboxView {
  /** The folder of the tree. */
  tree: string;
  /** The folder whose `usr` and `etc` have the programs; `/` is the machine's. */
  root: string;
  /** Of `findLinkedEtc`. */
  linkedEtc: string[];
  /** Read-only: each source with its path in the sandbox, an outer folder first. */
  mounts: { source: string; target: string }[];
  /** bwrap knows `--disable-userns`: from version 0.8 on. */
  disablesUserns: boolean;
  /** False on gVisor: bwrap cannot set up the loopback interface there, which a new network has already. */
  unsharesNet: boolean;
}

/** The options of bwrap. They go through a descriptor: a command line is shown to the sandbox, which must see no path of the machine. */
export function bwrapOptions({ tree, root, linkedEtc, mounts, disablesUserns, unsharesNet }: SandboxView): string[] {
  const programs = root === '/' ? '' : root;
  const { passwd, group, hosts, filter } = DESCRIPTORS;
  return [
    ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ...(unsharesNet ? ['--unshare-net'] : []),
    ...(disablesUserns ? ['--disable-userns'] : []),
    ...['--die-with-parent', '--as-pid-1', '--new-session', '--clearenv', '--hostname', 'sandbox', '--cap-drop', 'ALL'],
    ...['--uid', String(AGENT), '--gid', String(AGENT), '--seccomp', String(filter)],
    ...Object.entries(ENVIRONMENT).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--ro-bind', `${programs}/usr`, '/usr'],
    ...['bin', 'sbin', 'lib', 'lib64'].flatMap((name) => ['--symlink', `usr/${name}`, `/${name}`]),
    ...['--dir', '/etc'],
    ...[...SHOWN_ETC.map((name) => `/etc/${name}`), ...linkedEtc].flatMap((path) => [
      ...['--ro-bind-try', `${programs}${path}`, path],
    ]),
    ...['--perms', '0444', '--file', String(passwd), '/etc/passwd'],
    ...['--perms', '0444', '--file', String(group), '/etc/group'],
    ...['--perms', '0444', '--file', String(hosts), '/etc/hosts'],
    ...[
      '--proc',
      '/proc',
      ...(unsharesNet ? MASKED : []),
      '--dev',
      '/dev',
      '--size',
      String(SHARED_MEMORY),
      '--tmpfs',
      '/dev/shm',
    ],
    ...KEPT_FOLDERS.flatMap(({ path, name }) => ['--bind', `${tree}/${name}`, path]),
    ...['--dir', UPLOADS, '--dir', SKILLS, '--symlink', 'session', '/mnt/user-data'],
    ...mounts.flatMap(({ source, target }) => ['--ro-bind', source, target]),
    ...['--remount-ro', '/dev', '--remount-ro', '/', '--chdir', '/'],
  ];
}

/**
 * Process 1 of the sandbox. It begins the command only when the worker knows the sandbox and answers: by then the death of bwrap is
 * its own, so that no process stays that nobody would end. bwrap's own process 1 (without `--as-pid-1`) arranges that while the command
 * runs already. When the command has ended, its end is that of all processes. It says nothing of signals that end the command.
 */
const INIT = `exec 9>&2 2>/dev/null
echo >&${DESCRIPTORS.report}
IFS= read -r go <&${DESCRIPTORS.go} || exit
unset go
exec ${DESCRIPTORS.go}<&-
ulimit -u ${MAX_PROCESSES} || exit
SHLVL=0
"$@" 2>&9 9>&-
exit $?`;

/** Before the command: goes to its working directory. */
const BEGIN = `cd -- "$1" 2>/dev/null || cd ${WORKSPACE}
unset OLDPWD
shift`;

const INNER = `${BEGIN}
exec "$@" ${DESCRIPTORS.report}>&-`;

/** The number of the system call `clone`. */
const CLONE: Partial<Record<NodeJS.Architecture, number>> = { x64: 56, arm64: 220 };
/** CLONE_FS and SIGCHLD: a process of its own, with the working directory of its parent. */
const SHARED_CWD = 0x200 | 17;

/**
 * For bash, whose last working directory is wanted. It shares its working directory with its parent, which reports it when bash has
 * ended, however that was: by a trap of its own, by `exec` or by a signal. The report goes through a descriptor that the command does
 * not have.
 */
const SHARING = `my ($clone, $cwd, @command) = @ARGV;
open my $report, '>&=', ${DESCRIPTORS.report};
chdir $cwd or chdir '${WORKSPACE}';
my $pid = syscall $clone + 0, ${SHARED_CWD}, 0, 0, 0, 0;
if ($pid == 0) { exec { $command[0] } @command; exit 127 }
exit 126 if $pid < 0;
waitpid $pid, 0;
my $status = $?;
my $last = readlink '/proc/self/cwd';
my ($is, $named) = map { join ' ', (stat)[0, 1] } '.', $last;
print $report $is eq $named ? $last : '${WORKSPACE}', "\n";
exit($status & 127 ? 128 + ($status & 127) : $status >> 8)`;

/** The same where the programs have no perl: a trap of the command, or its \`exec\`, takes the report away. */
const TRAPPING = `${BEGIN}
trap '{ pwd -P >&${DESCRIPTORS.report}; } 2>/dev/null' EXIT
eval "shift
$1" ${DESCRIPTORS.report}>&-`;

/** The number of `clone`, where the programs of a root and the machine have what `SHARING` needs; else null. */
export function cloneOf(root: string): number | null {
  return existsSync(join(root, 'usr/bin/perl')) ? (CLONE[process.arch] ?? null) : null;
}

/**
 * Runs outside, as the user of the sandbox. Its death is that of bwrap, whose death is that of the sandbox. It dies with the worker,
 * and ends at once if the worker has died before that was arranged. A second shell ends the process group when the worker's end of the
 * pipe closes: bwrap that has just made its namespaces would wait for ever for a parent that is dead.
 * Closes what is not for bwrap, and joins both outputs in one pipe. `cat` stays outside: the pipe ends when the last process of the
 * sandbox has ended. It must be a pipe, because a socket (what Node makes) cannot be opened as /dev/stderr. bwrap gets a name without
 * its folder.
 */
const OUTER = `[ "$PPID" = "$1" ] || exit
shift
umask 022
for fd in /proc/self/fd/*; do fd=\${fd##*/}; case $fd in [0-9]|10|11|255) ;; *) eval "exec $fd>&-" 2>/dev/null;; esac; done
{ read -r end <&${DESCRIPTORS.alive}; kill -KILL 0; } >/dev/null 2>&1 3<&- 4<&- 5<&- 6>&- 7>&- 8<&- 10<&- 11<&- &
exec ${DESCRIPTORS.alive}<&-
{ exec -a bwrap "$@"; } 2>&1 | exec cat 3<&- 4<&- 5<&- 6>&- 7>&- 8<&- 10<&- 11<&-
kill -KILL $!`;

/** Makes the network where bwrap cannot: in a user namespace around that of bwrap. */
const NETWORK = ['unshare', '--user', '--map-current-user', '--net', '--'];

interface Command {
  bwrap: string;
  unsharesNet: boolean;
  /** Users of the machine: as root, the sandbox has one of its own. */
  owner: { uid: number; gid: number } | null;
  memoryBytes: number;
  /** Of `cloneOf`. */
  clone: number | null;
  cwd: string;
  argv: string[];
}

/** The whole command line: limits, user, priority, outer shell, bwrap, inner shell, and the command. */
export function commandLine({
  bwrap,
  unsharesNet,
  owner,
  memoryBytes,
  clone,
  cwd,
  argv,
}: Command): [file: string, args: string[]] {
  const { options, status } = DESCRIPTORS;
  const isShell = argv[0] === 'bash' && argv[1] === '-c' && argv.length === 3;
  const user = owner === null ? [] : [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups'];
  return [
    'prlimit',
    [
      ...[`--fsize=${MAX_FILE_BYTES}`, `--nofile=${MAX_OPEN_FILES}`, '--core=0', `--data=${memoryBytes}`, '--'],
      ...['setpriv', ...user, '--no-new-privs', '--pdeathsig', 'KILL', '--'],
      ...['nice', '-n', String(NICE), 'bash', '-c', OUTER, 'sh', String(process.pid)],
      ...(unsharesNet ? [] : NETWORK),
      ...[bwrap, '--args', String(options), '--json-status-fd', String(status), 'bash', '-c', INIT, 'init'],
      ...(isShell ? shell(clone, cwd, argv[2]!) : ['bash', '-c', INNER, 'bash', cwd, ...argv]),
    ],
  ];
}

function shell(clone: number | null, cwd: string, command: string): string[] {
  if (clone === null) return ['bash', '-c', TRAPPING, 'bash', cwd, command];
  return ['perl', '-e', SHARING, String(clone), cwd, 'bash', '-c', command];
}
