/**
 * The filter of system calls of a sandbox, as a program for the kernel (seccomp, classic BPF). It refuses what leads out of a
 * sandbox or around its limits; everything else is left to namespaces, users and limits.
 */
const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_GREATER = 0x25;
const JUMP_BITS = 0x45;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const fail = (errno: number): number => 0x00050000 | errno;
const EPERM = 1;
const ENOMEM = 12;
const ENOSYS = 38;
const EOPNOTSUPP = 95;
const EAFNOSUPPORT = 97;

/** Places in the kernel's record of a call: its number, the machine it is for, and the low halves of its arguments. */
const NUMBER = 0;
const MACHINE = 4;
const FIRST_ARGUMENT = 16;
const SECOND_ARGUMENT = 24;
const THIRD_ARGUMENT = 32;
const FOURTH_ARGUMENT = 40;
/** From the low half of an argument to its high half. */
const HIGH = 4;

/** Local sockets, IPv4, IPv6 and netlink (which libc uses to list addresses). Not: hypervisor, packets, kernel crypto. */
const FAMILIES = [1, 2, 10, 16];
/** Options of a socket that the filter answers with success and does not set: the watchdog counts sockets with their default buffers. */
const SOL_SOCKET = 1;
const [SO_SNDBUF, SO_RCVBUF] = [7, 8];
/** Huge pages are no memory of a process, and no group counts them. */
const MAP_HUGETLB = 0x40000;
const [MAP_SHARED, MAP_ANONYMOUS] = [0x01, 0x20];
/** Ways to `fallocate` that are no call of their own: reserve, reserve (64 bits), and fill with zeros. */
const RESERVING_CONTROLS = [0x40305828, 0x4030582a, 0x40305839];
/** Flags of clone that make a namespace. */
const NEW_NAMESPACES = 0x7e020080;

/** Numbers of the calls on x86-64 and arm64. */
// oxfmt-ignore
const REFUSED: [x64: number, arm64: number | null, name: string][] = [
  [101, 117, 'ptrace'], [310, 270, 'process_vm_readv'], [311, 271, 'process_vm_writev'], [312, 272, 'kcmp'],
  [438, 438, 'pidfd_getfd'], [440, 440, 'process_madvise'],
  [248, 217, 'add_key'], [249, 218, 'request_key'], [250, 219, 'keyctl'],
  [321, 280, 'bpf'], [298, 241, 'perf_event_open'], [323, 282, 'userfaultfd'],
  [425, 425, 'io_uring_setup'], [426, 426, 'io_uring_enter'], [427, 427, 'io_uring_register'],
  [165, 40, 'mount'], [166, 39, 'umount2'], [155, 41, 'pivot_root'], [161, 51, 'chroot'],
  [428, 428, 'open_tree'], [429, 429, 'move_mount'], [430, 430, 'fsopen'], [431, 431, 'fsconfig'], [432, 432, 'fsmount'],
  [433, 433, 'fspick'], [442, 442, 'mount_setattr'],
  [272, 97, 'unshare'], [308, 268, 'setns'],
  [175, 105, 'init_module'], [313, 273, 'finit_module'], [176, 106, 'delete_module'],
  [246, 104, 'kexec_load'], [320, 294, 'kexec_file_load'], [169, 142, 'reboot'],
  [303, 264, 'name_to_handle_at'], [304, 265, 'open_by_handle_at'],
  [167, 224, 'swapon'], [168, 225, 'swapoff'], [163, 89, 'acct'], [179, 60, 'quotactl'], [443, 443, 'quotactl_fd'],
  [103, 116, 'syslog'], [170, 161, 'sethostname'], [171, 162, 'setdomainname'],
  [159, 171, 'adjtimex'], [305, 266, 'clock_adjtime'], [227, 112, 'clock_settime'], [164, 170, 'settimeofday'],
  [172, null, 'iopl'], [173, null, 'ioperm'],
  // Memory of no process: it would escape the limit of a command's memory.
  [447, 447, 'memfd_secret'], [29, 194, 'shmget'], [68, 186, 'msgget'], [64, 190, 'semget'],
];
/** libc falls back to other calls where these are missing. */
const MISSING: [x64: number, arm64: number, name: string][] = [
  [435, 435, 'clone3'],
  [319, 279, 'memfd_create'],
];

/** Attributes of files that a manifest does not keep: a tree has what a stored one has, and programs go on without them. */
const ATTRIBUTES: [x64: number, arm64: number, name: string][] = [
  [188, 5, 'setxattr'],
  [189, 6, 'lsetxattr'],
  [190, 7, 'fsetxattr'],
  [463, 463, 'setxattrat'],
];
/** The ways to set flags of a file, as `chattr` does. */
const FLAG_CONTROLS = [0x40086602, 0x401c5820];

const MACHINES = {
  // oxfmt-ignore
  x64: { audit: 0xc000003e, index: 0, clone: 56, socket: 41, socketpair: 53, setsockopt: 54, mmap: 9, ioctl: 16, fallocate: 285 },
  // oxfmt-ignore
  arm64: { audit: 0xc00000b7, index: 1, clone: 220, socket: 198, socketpair: 199, setsockopt: 208, mmap: 222, ioctl: 29, fallocate: 47 },
} as const;

export type Machine = keyof typeof MACHINES;

export function isKnownMachine(machine: string): machine is Machine {
  return machine in MACHINES;
}

/** What is refused in place of a limit that the kernel cannot keep on this machine. */
export interface Fences {
  /** No file takes more blocks than are written to it: a tree has no file system of its own. */
  refusesFallocate: boolean;
  /** The most bytes of shared memory in one piece; null: a group counts it. */
  maxSharedBytes: number | null;
}

/** The program, for bwrap's `--seccomp`. */
export function seccompFilter(machine: Machine, { refusesFallocate, maxSharedBytes }: Fences): Buffer {
  const { audit, index, clone, socket, socketpair, setsockopt, mmap, ioctl, fallocate } = MACHINES[machine];
  const numbers = (calls: readonly [number, number | null, string][]): number[] =>
    calls.map((call) => call[index]).filter((number) => number !== null);
  const program: [code: number, ifTrue: number, ifFalse: number, value: number][] = [];
  const add = (code: number, value: number, ifTrue = 0, ifFalse = 0): unknown =>
    program.push([code, ifTrue, ifFalse, value]);
  add(LOAD, MACHINE);
  add(JUMP_EQUAL, audit, 1, 0);
  add(RETURN, KILL);
  add(LOAD, NUMBER);
  // The 32-bit variant of the machine has other numbers.
  add(JUMP_BITS, 0x40000000, 0, 1);
  add(RETURN, KILL);
  for (const number of numbers(REFUSED)) {
    add(JUMP_EQUAL, number, 0, 1);
    add(RETURN, fail(EPERM));
  }
  for (const number of numbers(MISSING)) {
    add(JUMP_EQUAL, number, 0, 1);
    add(RETURN, fail(ENOSYS));
  }
  for (const number of numbers(ATTRIBUTES)) {
    add(JUMP_EQUAL, number, 0, 1);
    add(RETURN, fail(EOPNOTSUPP));
  }
  if (refusesFallocate) {
    add(JUMP_EQUAL, fallocate, 0, 1);
    // libc writes then.
    add(RETURN, fail(EOPNOTSUPP));
  }
  const controls = refusesFallocate ? [...FLAG_CONTROLS, ...RESERVING_CONTROLS] : FLAG_CONTROLS;
  add(JUMP_EQUAL, ioctl, 0, controls.length + 3);
  add(LOAD, SECOND_ARGUMENT);
  controls.forEach((control, at) => add(JUMP_EQUAL, control, controls.length - at, 0));
  add(RETURN, ALLOW);
  add(RETURN, fail(EOPNOTSUPP));
  const bound = maxSharedBytes === null ? 0 : 6;
  add(JUMP_EQUAL, mmap, 0, bound + 4);
  add(LOAD, FOURTH_ARGUMENT);
  add(JUMP_BITS, MAP_HUGETLB, bound + 1, 0);
  if (maxSharedBytes !== null) {
    add(JUMP_BITS, MAP_ANONYMOUS, 0, 5);
    add(JUMP_BITS, MAP_SHARED, 0, 4);
    add(LOAD, SECOND_ARGUMENT + HIGH);
    add(JUMP_EQUAL, 0, 0, 3);
    add(LOAD, SECOND_ARGUMENT);
    add(JUMP_GREATER, maxSharedBytes, 1, 0);
  }
  add(RETURN, ALLOW);
  add(RETURN, fail(ENOMEM));
  add(JUMP_EQUAL, setsockopt, 0, 7);
  add(LOAD, SECOND_ARGUMENT);
  add(JUMP_EQUAL, SOL_SOCKET, 0, 3);
  add(LOAD, THIRD_ARGUMENT);
  add(JUMP_EQUAL, SO_SNDBUF, 2, 0);
  add(JUMP_EQUAL, SO_RCVBUF, 1, 0);
  add(RETURN, ALLOW);
  add(RETURN, fail(0));
  add(JUMP_EQUAL, clone, 0, 4);
  add(LOAD, FIRST_ARGUMENT);
  add(JUMP_BITS, NEW_NAMESPACES, 0, 1);
  add(RETURN, fail(EPERM));
  add(RETURN, ALLOW);
  add(JUMP_EQUAL, socketpair, 1, 0);
  add(JUMP_EQUAL, socket, 0, FAMILIES.length + 2);
  add(LOAD, FIRST_ARGUMENT);
  FAMILIES.forEach((family, at) => add(JUMP_EQUAL, family, FAMILIES.length - at, 0));
  add(RETURN, fail(EAFNOSUPPORT));
  add(RETURN, ALLOW);
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(([code, ifTrue, ifFalse, value], at) => {
    bytes.writeUInt16LE(code, at * 8);
    bytes.writeUInt8(ifTrue, at * 8 + 2);
    bytes.writeUInt8(ifFalse, at * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, at * 8 + 4);
  });
  return bytes;
}
