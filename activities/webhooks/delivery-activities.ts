/** What the workflow of a delivery can have done. Ids and small facts only. */
export interface DeliveryActivities {
  /** Sends the delivery if it is due, or in any case with `force`. */
  sendDelivery(input: { deliveryId: string; force: boolean }): Promise<DeliveryProgress>;
  /** Marks a delivery whose workflow was cancelled as failed. */
  abandonDelivery(input: { deliveryId: string }): Promise<void>;
}

export interface DeliveryProgress {
  /** For whoever reads the history. */
  state: string;
  /** Null when no attempt follows. */
  nextAfterMs: number | null;
}
