interface Written {
  code: number;
  out: string;
  err: string;
}

/** Runs a command in this process, and catches what it writes. */
export async function runWritten(command: () => Promise<number>): Promise<Written> {
  const written = { out: '', err: '' };
  const { stdout, stderr } = process;
  const [writeOut, writeErr] = [stdout.write.bind(stdout), stderr.write.bind(stderr)];
  stdout.write = (text: string | Uint8Array) => ((written.out += String(text)), true);
  stderr.write = (text: string | Uint8Array) => ((written.err += String(text)), true);
  try {
    return { code: await command(), ...written };
  } finally {
    stdout.write = writeOut;
    stderr.write = writeErr;
  }
}
