/** Lets the browser save a text as a file. */
export function saveText(filename: string, type: string, text: string): void {
  saveBlob(filename, new Blob([text], { type }));
}

export function saveBlob(filename: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = filename;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
