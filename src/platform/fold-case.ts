/**
 * A text without differences of case, in every script and whatever the locale: texts that differ only in case, or in the way in which
 * accents are encoded, become equal. As Unicode's full case folding (ß, ẞ and SS are equal), and the i with and without a dot are one
 * letter, so that Turkish words are found in any case.
 */
export function foldCase(text: string): string {
  const lower = text.normalize('NFD').toLowerCase().toUpperCase().toLowerCase();
  return lower.replaceAll('ς', 'σ').replaceAll('i\u0307', 'i').normalize('NFC');
}
