import { CopyText } from '../parts/copy-text.js';

export function SecretNote({ secret }: { secret: string }) {
  return (
    <div class="note warning" role="status">
      <p>
        <strong>Copy the secret now.</strong> It verifies the signatures and is not shown again.
      </p>
      <p>
        <CopyText text={secret} label="secret" />
      </p>
    </div>
  );
}
