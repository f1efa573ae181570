interface Props {
  /** 0 to 1. */
  share: number;
  label: string;
}

export function Progress({ share, label }: Props) {
  return (
    <span class="progress">
      <progress value={share} max={1} aria-label={label} />
      <span aria-hidden="true">{Math.round(share * 100)} %</span>
    </span>
  );
}
