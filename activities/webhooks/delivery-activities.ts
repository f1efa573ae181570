/** Activities of the delivery workflow. They pass ids and small facts only. */
export interface DeliveryActivities {
  /** Sends the delivery if it is due; with `force`, even if it is not. */
  sendDelivery(input: { deliveryId: string; force: boolean }): Promise<DeliveryProgress>;
  /** Marks a delivery whose workflow was cancelled as failed. */
  abandonDelivery(input: { deliveryId: string }): Promise<void>;
}

export interface DeliveryProgress {
  /** Shown in the workflow's history only. */
  state: string;
  /** Delay until the next attempt; null if there is none. */
  nextAfterMs: number | null;
}
