import { temporalQuestions } from '../../src/temporal/doctor.js';
import { CheckError, type Check } from './check.js';

export function temporalChecks(): Check[] {
  const remedy =
    'Check TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and TEMPORAL_API_KEY or the TLS variables, and that the namespace exists.';
  return [
    {
      part: 'temporal',
      remedy,
      async run() {
        const { namespace, days, serverVersion } = await temporalQuestions.namespace();
        // The speed of turns depends on the server's dynamic configuration, which no client request can read.
        const hint = 'dynamic configuration cannot be seen from here: compare docs/operations/temporal.md';
        return `namespace ${namespace}, keeps closed workflows ${days} days; server ${serverVersion}, its ${hint}`;
      },
    },
    {
      part: 'search attributes',
      remedy,
      async run() {
        const missing = await temporalQuestions.missingSearchAttributes();
        if (missing.length === 0) return 'all there';
        throw new CheckError(
          `the namespace lacks ${missing.join(', ')}: turns start without them`,
          'The first API or worker that starts adds them, if it may. Where it may not (Temporal Cloud), add them as Keyword: ' +
            'temporal operator search-attribute create, tcld or Terraform.',
        );
      },
    },
  ];
}
