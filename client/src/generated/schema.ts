// Made from the OpenAPI document of the service by `npm run client:generate`. Not to be edited.

export interface components {
    schemas: {
        ErrorDetails: {
            bad_request?: null;
            authentication_error?: null;
            insufficient_scope?: {
                required: string;
            };
            invalid_link?: null;
            not_found?: null;
            skill_not_found?: {
                skill_ids: string[];
            };
            mcp_server_not_found?: {
                mcp_server_ids: string[];
            };
            session_not_found?: null;
            file_not_found?: {
                file_ids: string[];
            };
            webhook_not_found?: null;
            delivery_not_found?: null;
            schedule_not_found?: null;
            tool_use_not_found?: {
                tool_use_ids: string[];
            };
            elicitation_not_found?: {
                elicitation_ids: string[];
            };
            turn_not_found?: null;
            event_not_found?: null;
            message_not_found?: null;
            method_not_allowed?: null;
            request_timeout?: null;
            skill_name_taken?: null;
            mcp_server_name_taken?: null;
            mcp_server_url_taken?: null;
            /** @description Present while the turn waits for answers. */
            session_running?: {
                required_actions: ({
                    /** @enum {unknown} */
                    type: "tool_confirmation" | "custom_tool_result";
                    tool_use_id: string;
                    name: string;
                    input: {
                        [key: string]: unknown;
                    };
                    /** Format: date-time */
                    expires_at: string;
                } | {
                    /** @constant */
                    type: "budget";
                    /** @description What the session has spent. */
                    spent: {
                        amount: string;
                        currency: string;
                    };
                    /** @description PATCH the session with a larger one, or another budget. */
                    max_cost: {
                        amount: string;
                        currency: string;
                    };
                    /** Format: date-time */
                    expires_at: string;
                } | {
                    /** @constant */
                    type: "elicitation";
                    elicitation_id: string;
                    tool_use_id: string;
                    name: string;
                    /** @constant */
                    mode: "form";
                    message: string;
                    /** @description A flat JSON Schema of the answer’s content. */
                    requested_schema: {
                        [key: string]: unknown;
                    };
                    /** Format: date-time */
                    expires_at: string;
                } | {
                    /** @constant */
                    type: "elicitation";
                    elicitation_id: string;
                    tool_use_id: string;
                    name: string;
                    /** @constant */
                    mode: "url";
                    message: string;
                    /** @description For the person to open. The service never opens it. */
                    url: string;
                    /** Format: date-time */
                    expires_at: string;
                })[];
            };
            queue_full?: null;
            message_delivered?: null;
            turn_not_continuable?: {
                /** @enum {string} */
                reason: "no_turn" | "completed" | "context_too_long";
            };
            webhook_limit_reached?: null;
            schedule_limit_reached?: null;
            webhook_disabled?: null;
            tool_use_not_pending?: {
                tool_use_id: string;
                /** @enum {string} */
                state: "not_asked" | "not_required" | "allowed" | "denied" | "answered" | "expired" | "cancelled";
            };
            elicitation_not_pending?: {
                elicitation_id: string;
                /** @enum {string} */
                state: "answered" | "expired" | "withdrawn" | "lost" | "cancelled";
            };
            tools_changed?: {
                tools: string[];
            };
            idempotency_key_in_use?: null;
            content_too_large?: {
                max_bytes: number;
            };
            file_too_large?: {
                max_bytes: number;
            };
            skill_bundle_too_large?: {
                max_bytes: number;
            };
            storage_limit_reached?: {
                max_bytes: number;
            };
            unsupported_media_type?: null;
            validation_error?: {
                errors: {
                    /** @description JSON Pointer into the body, or /query/<name>. */
                    path: string;
                    message: string;
                }[];
            };
            invalid_cursor?: null;
            invalid_filename?: null;
            invalid_skill_bundle?: null;
            invalid_mcp_server_url?: null;
            invalid_webhook_url?: null;
            mcp_probe_failed?: null;
            mcp_oauth_failed?: null;
            unknown_mcp_tool?: {
                tools: string[];
            };
            unknown_model?: {
                available_models: string[];
            };
            metadata_too_large?: null;
            idempotency_key_reused?: null;
            rate_limit_exceeded?: null;
            too_many_running_turns?: {
                max_running_turns: number;
            };
            too_many_streams?: null;
            too_many_requests?: null;
            internal_error?: null;
            storage_error?: null;
            service_unavailable?: null;
            undefined?: null;
        };
        Skill: {
            id: string;
            name: string;
            description: string;
            /** @description Size of the package as stored, after normalisation. */
            size_bytes: number;
            /** Format: date-time */
            created_at: string;
        };
        McpServer: {
            id: string;
            name: string;
            url: string;
            auth: {
                /** @enum {string} */
                type: "NONE" | "BEARER" | "HEADER" | "OAUTH";
                /** @description The header name for type HEADER; otherwise null. */
                name: string | null;
                /**
                 * @description Only for type OAUTH, like the next two fields.
                 * @enum {string}
                 */
                status?: "authorization_required" | "authorized";
                /** @description Where a person authorizes the server; only in the response that starts an authorization. */
                authorization_url?: string | null;
                /**
                 * Format: date-time
                 * @description When authorization_url expires.
                 */
                expires_at?: string | null;
            };
            allowed_tools: string[] | null;
            tools: {
                name: string;
                description: string;
            }[];
            pin_tools: boolean;
            /** @description Tools of a pinned server that are held back until they are accepted. */
            changed_tools: components["schemas"]["ChangedMcpTool"][];
            server_name: string | null;
            /** Format: date-time */
            last_probed_at: string | null;
            /** Format: date-time */
            last_connected_at: string | null;
            last_connect_error: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        ChangedMcpTool: {
            name: string;
            /** @description Identifies this version of the tool. Send it when you accept the tool. */
            digest: string;
            /** @description The accepted tool; null for a new one. */
            before: {
                description: string;
                /** @description Null if it is too large to show. */
                input_schema: {
                    [key: string]: unknown;
                } | null;
                /** @description Absent without readOnlyHint or idempotentHint. */
                annotations?: {
                    /** @constant */
                    readOnlyHint?: true;
                    /** @constant */
                    idempotentHint?: true;
                };
            } | null;
            after: {
                description: string;
                /** @description Null if it is too large to show. */
                input_schema: {
                    [key: string]: unknown;
                } | null;
                /** @description Absent without readOnlyHint or idempotentHint. */
                annotations?: {
                    /** @constant */
                    readOnlyHint?: true;
                    /** @constant */
                    idempotentHint?: true;
                };
            };
        };
        /**
         * @example {
         *       "id": "claude-sonnet-5-5",
         *       "display_name": "Claude Sonnet 5.5",
         *       "context_window": 200000,
         *       "max_output_tokens": 64000,
         *       "supports_thinking": true,
         *       "price": {
         *         "currency": "USD",
         *         "input": 3,
         *         "output": 15,
         *         "cache_read": 0.3,
         *         "cache_write": 3.75
         *       }
         *     }
         */
        Model: {
            id: string;
            display_name: string;
            context_window: number;
            max_output_tokens: number;
            supports_thinking: boolean;
            /** @description Per million tokens; null if unknown. */
            price: {
                currency: string;
                input: number;
                output: number;
                cache_read: number;
                cache_write: number;
            } | null;
        };
        /**
         * @example {
         *       "id": "ses_01kag8y7m3w9s1p4x2c5v6b7n8",
         *       "status": "COMPLETE",
         *       "model_id": "claude-sonnet-5-5",
         *       "thinking_enabled": true,
         *       "instruction": "Answer in one sentence.",
         *       "mcp_servers": [],
         *       "metadata": {
         *         "customer": "4711"
         *       },
         *       "preview": "Which orders are late?",
         *       "tools": [],
         *       "required_actions": [],
         *       "queue": {
         *         "length": 0,
         *         "state": "open"
         *       },
         *       "fallback_model_ids": [
         *         "claude-haiku-4-5"
         *       ],
         *       "budget": {
         *         "max_cost": {
         *           "amount": "5",
         *           "currency": "USD"
         *         },
         *         "on_reached": "stop"
         *       },
         *       "cost": {
         *         "amount": "0.012345",
         *         "currency": "USD"
         *       },
         *       "continuable": false,
         *       "last_turn_id": "turn_01kag8z0d4k7q2r9t5y8h3j6m1",
         *       "created_at": "2026-11-21T09:48:03.123456Z",
         *       "updated_at": "2026-11-21T09:48:09.654321Z"
         *     }
         */
        Session: {
            id: string;
            /** @enum {string} */
            status: "IDLE" | "RUNNING" | "COMPLETE" | "CANCELLED" | "FAILED";
            model_id: string;
            thinking_enabled: boolean;
            instruction: string | null;
            mcp_servers: string[];
            metadata: {
                [key: string]: string;
            };
            /** @description The first 120 characters of the first message; null without one. */
            preview: string | null;
            tools: components["schemas"]["SessionTool"][];
            required_actions: components["schemas"]["RequiredAction"][];
            /** @description The waiting messages. held: none starts automatically, because the last turn did not complete. */
            queue: {
                length: number;
                /** @enum {unknown} */
                state: "open" | "held";
            };
            fallback_model_ids: string[];
            budget: {
                max_cost: {
                    /** @description A decimal number above 0, with at most 9 digits before and 6 after the point. */
                    amount: string;
                    /** @description That of the catalogue. */
                    currency: string;
                };
                /**
                 * @description pause: the turn waits until the budget changes. stop: it ends with stop_reason `budget_reached`.
                 * @enum {unknown}
                 */
                on_reached: "pause" | "stop";
            } | null;
            /** @description What the model calls of its turns cost so far; null if one of their models has no price. */
            cost: {
                amount: string;
                currency: string;
            } | null;
            /** @description True if POST continue can continue the last turn. */
            continuable: boolean;
            last_turn_id: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        SessionTool: {
            /** @constant */
            type: "mcp_toolset";
            /** @description One of the session’s mcp_servers. */
            mcp_server_id: string;
            default_config?: {
                permission_policy: {
                    /** @enum {string} */
                    type: "always_allow" | "always_ask";
                };
            };
            configs?: {
                /** @description The server’s own name of the tool. */
                name: string;
                permission_policy: {
                    /** @enum {string} */
                    type: "always_allow" | "always_ask";
                };
            }[];
            /** @description The server may ask questions while a call runs; default false. */
            elicitation?: boolean;
        } | {
            /** @constant */
            type: "custom";
            name: string;
            description: string;
            /** @description JSON Schema 2020-12 of the tool’s input; at most 32 KiB as compact JSON. */
            input_schema: {
                /** @constant */
                type: "object";
            } & {
                [key: string]: unknown;
            };
        };
        RequiredAction: {
            /** @enum {unknown} */
            type: "tool_confirmation" | "custom_tool_result";
            tool_use_id: string;
            name: string;
            input: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            expires_at: string;
        } | {
            /** @constant */
            type: "budget";
            /** @description What the session has spent. */
            spent: {
                amount: string;
                currency: string;
            };
            /** @description PATCH the session with a larger one, or another budget. */
            max_cost: {
                amount: string;
                currency: string;
            };
            /** Format: date-time */
            expires_at: string;
        } | {
            /** @constant */
            type: "elicitation";
            elicitation_id: string;
            tool_use_id: string;
            name: string;
            /** @constant */
            mode: "form";
            message: string;
            /** @description A flat JSON Schema of the answer’s content. */
            requested_schema: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            expires_at: string;
        } | {
            /** @constant */
            type: "elicitation";
            elicitation_id: string;
            tool_use_id: string;
            name: string;
            /** @constant */
            mode: "url";
            message: string;
            /** @description For the person to open. The service never opens it. */
            url: string;
            /** Format: date-time */
            expires_at: string;
        };
        File: {
            id: string;
            filename: string;
            mime_type: string;
            size_bytes: number;
            /** @enum {string} */
            origin: "UPLOAD" | "OUTPUT";
            session_id: string | null;
            /** Format: date-time */
            created_at: string;
        };
        Webhook: {
            id: string;
            url: string;
            event_types: ("turn.completed" | "turn.cancelled" | "turn.failed" | "agent.requires_action" | "agent.file")[];
            description: string | null;
            enabled: boolean;
            /** @description Why the service disabled it; null if it is enabled, or if a client disabled it. */
            disabled_reason: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        WebhookWithSecret: {
            id: string;
            url: string;
            event_types: ("turn.completed" | "turn.cancelled" | "turn.failed" | "agent.requires_action" | "agent.file")[];
            description: string | null;
            enabled: boolean;
            /** @description Why the service disabled it; null if it is enabled, or if a client disabled it. */
            disabled_reason: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** @description Verifies the signatures. Shown only in this response. */
            secret: string;
        };
        WebhookDelivery: {
            /** @description Sent as `webhook-id` with every attempt. */
            id: string;
            /** @enum {string} */
            event_type: "turn.completed" | "turn.cancelled" | "turn.failed" | "agent.requires_action" | "agent.file" | "webhook.test";
            /** @description Null for `webhook.test`. */
            event_id: string | null;
            /** @enum {string} */
            state: "pending" | "delivered" | "failed";
            /** @description Oldest first; the latest 50. */
            attempts: {
                /** Format: date-time */
                at: string;
                /** @description HTTP status; null without a response. */
                status: number | null;
                /** @description Why it failed; null for a success. */
                error: string | null;
                duration_ms: number;
            }[];
            /** Format: date-time */
            next_attempt_at: string | null;
            /** Format: date-time */
            created_at: string;
        };
        Schedule: {
            id: string;
            name: string | null;
            cron: string | null;
            /** Format: date-time */
            at: string | null;
            timezone: string;
            target: components["schemas"]["ScheduleTarget"];
            message: components["schemas"]["ScheduleMessage"];
            /**
             * @description What to do if the session has an open turn.
             * @enum {string}
             */
            overlap: "skip" | "queue";
            /** Format: date-time */
            end_at: string | null;
            /** @enum {string} */
            state: "active" | "paused" | "ended";
            /**
             * @description Why the service paused it; null if a client paused it.
             * @enum {string|null}
             */
            paused_reason: "session_deleted" | "failures" | null;
            /** @description The next five, or as many as there are. */
            next_runs_at: string[];
            /** @description The newest run. */
            last_run: components["schemas"]["ScheduleRun"] | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        ScheduleTarget: {
            /** @enum {string} */
            type: "new_session" | "existing_session";
            /**
             * @description For `new_session`: the body of POST sessions.
             * @example {
             *       "model_id": "claude-sonnet-5-5",
             *       "instruction": "Answer in one sentence.",
             *       "metadata": {
             *         "customer": "4711"
             *       }
             *     }
             */
            session?: {
                /** @description An id of GET /v1/models. */
                model_id: string;
                /** @default true */
                thinking_enabled?: boolean;
                /** @default null */
                instruction?: string | null;
                /** @default [] */
                mcp_servers?: string[];
                /** @default {} */
                metadata?: {
                    [key: string]: string;
                };
                /** @default [] */
                tools?: components["schemas"]["SessionTool"][];
                /**
                 * @description The models that a turn goes on with when its model fails, in order.
                 * @default []
                 */
                fallback_model_ids?: string[];
                /** @default null */
                budget?: {
                    max_cost: {
                        /** @description A decimal number above 0, with at most 9 digits before and 6 after the point. */
                        amount: string;
                        /** @description That of the catalogue. */
                        currency: string;
                    };
                    /**
                     * @description pause: the turn waits until the budget changes. stop: it ends with stop_reason `budget_reached`.
                     * @enum {unknown}
                     */
                    on_reached: "pause" | "stop";
                } | null;
            };
            /** @description For `existing_session`. */
            session_id?: string;
        };
        /** @description The body of POST messages. */
        ScheduleMessage: {
            content: string;
            /** @default [] */
            files?: string[];
            /** @default [] */
            skills?: (string | {
                id: string;
            } | {
                skill_id: string;
            })[];
            /** @description The model of this turn, if it differs from the session’s: an id of GET /v1/models. */
            model_id?: string;
            /** @description Thinking in this turn, if it differs from the session’s. */
            thinking_enabled?: boolean;
        };
        ScheduleRun: {
            /** Format: date-time */
            scheduled_at: string;
            /**
             * Format: date-time
             * @description Null until its turn starts, and for a skipped run.
             */
            started_at: string | null;
            /** @enum {string} */
            state: "started" | "skipped";
            session_id: string | null;
            turn_id: string | null;
            /**
             * @description Why it was skipped.
             * @enum {string|null}
             */
            reason: "missed" | "session_running" | "too_many_running_turns" | "queue_full" | "not_found" | null;
        };
        WebhookPayload: {
            /** @enum {unknown} */
            type: "turn.completed" | "turn.cancelled" | "turn.failed" | "agent.requires_action" | "agent.file";
            /**
             * Format: date-time
             * @description When the event happened.
             */
            timestamp: string;
            data: {
                session_id: string;
                turn_id: string;
                event_id: string;
                /** @description Metadata of the session at the time of the event; empty in `webhook.test`. */
                metadata: {
                    [key: string]: string;
                };
            };
        } | {
            /** @constant */
            type: "webhook.test";
            /**
             * Format: date-time
             * @description When the event happened.
             */
            timestamp: string;
            data: {
                session_id: null;
                turn_id: null;
                event_id: null;
                /** @description Metadata of the session at the time of the event; empty in `webhook.test`. */
                metadata: {
                    [key: string]: string;
                };
            };
        };
        Turn: {
            id: string;
            session_id: string;
            /**
             * @description waiting: calls of the agent wait for an answer.
             * @enum {string}
             */
            status: "queued" | "running" | "waiting" | "completed" | "cancelled" | "failed";
            /** @description The requested model. */
            model_id: string;
            /**
             * Format: date-time
             * @description The time of its first event.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description Null while it is queued, and if it never ran.
             */
            started_at: string | null;
            /**
             * Format: date-time
             * @description The time of its terminal event.
             */
            ended_at: string | null;
            /**
             * @description Why it completed.
             * @enum {string|null}
             */
            stop_reason: "end_turn" | "max_steps" | "max_output_tokens" | "refusal" | "budget_reached" | null;
            /** @description Why it failed. */
            error: {
                /** @enum {unknown} */
                type: "model_error" | "model_overloaded" | "model_rate_limited" | "context_too_long" | "turn_timeout" | "terminated" | "internal_error";
                message: string;
                retryable: boolean;
            } | null;
            /** @description As in the terminal event; null until then. */
            usage: {
                input_tokens: number;
                output_tokens: number;
            } | null;
            usage_details: {
                cache_read_input_tokens: number;
                cache_creation_input_tokens: number;
                model_calls: number;
                /** @description What the model calls cost; null if one of their models has no price. */
                cost: {
                    amount: string;
                    currency: string;
                } | null;
                /**
                 * @description Present if the server of a model did not report all usage, as for an answer that was cut off: the missing tokens are estimated, and cost as if they were reported.
                 * @constant
                 */
                estimated?: true;
            } | null;
            /** @description Milliseconds; null for a phase that never happened. first_token_ms and total_ms count from the message; waiting_ms is the time spent waiting for answers. */
            timing: {
                queued_ms: number | null;
                connect_ms: number | null;
                first_token_ms: number | null;
                model_ms: number | null;
                tools_ms: number | null;
                waiting_ms: number | null;
                total_ms: number;
            } | null;
            /** @description The content of its last `agent.message`. */
            message: string | null;
            /** @description Id of the turn that it continues. */
            continues_turn_id: string | null;
        };
        Event: {
            id: string;
            /** @constant */
            type: "user.message";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            content: string;
            files: {
                id: string;
                filename: string;
                mime_type: string;
                size_bytes: number;
            }[];
            skills: {
                id: string;
                name: string;
                description: string;
            }[];
            /** @description Only in a message that a schedule sent. */
            schedule_id?: string;
            /** @description The model of this message’s turn, if the message names one. */
            model_id?: string;
            /** @description Thinking in this message’s turn, if the message sets it. */
            thinking_enabled?: boolean;
            /** @description Number of the model call in the open turn that first got the message. */
            delivered_at_step?: number;
        } | {
            id: string;
            /** @constant */
            type: "turn.continued";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            continues_turn_id: string;
        } | {
            id: string;
            /** @constant */
            type: "agent.thinking";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            message_id: string;
            content: string;
        } | {
            id: string;
            /** @constant */
            type: "agent.message";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            message_id: string;
            content: string;
            /** @constant */
            incomplete?: true;
        } | {
            id: string;
            /** @constant */
            type: "user.tool_confirmation";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            tool_use_id: string;
            /** @enum {unknown} */
            result: "allow" | "deny";
            deny_message: string | null;
            /** @description The actor in the answer; null without one. */
            actor: string | null;
        } | {
            id: string;
            /** @constant */
            type: "user.custom_tool_result";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            tool_use_id: string;
            content: string;
            is_error: boolean;
            /** @description The actor in the answer; null without one. */
            actor: string | null;
        } | {
            id: string;
            /** @constant */
            type: "user.elicitation_result";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            elicitation_id: string;
            /** @enum {unknown} */
            action: "accept" | "decline" | "cancel";
            content: {
                [key: string]: unknown;
            } | null;
            /** @description The actor in the answer; null without one. */
            actor: string | null;
        } | {
            id: string;
            /** @constant */
            type: "agent.tool_use";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            tool_use_id: string;
            name: string;
            input: {
                [key: string]: unknown;
            };
            /**
             * @description Only in sessions that have tools.
             * @enum {unknown}
             */
            evaluated_permission?: "allow" | "ask";
        } | {
            id: string;
            /** @constant */
            type: "agent.custom_tool_use";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            tool_use_id: string;
            name: string;
            input: {
                [key: string]: unknown;
            };
        } | {
            id: string;
            /** @constant */
            type: "agent.requires_action";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            required_actions: components["schemas"]["RequiredAction"][];
        } | {
            id: string;
            /** @constant */
            type: "agent.tool_progress";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            tool_use_id: string;
            name: string;
            /** @enum {unknown} */
            status: "working" | "input_required";
            message: string | null;
        } | {
            id: string;
            /** @constant */
            type: "agent.tool_result";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            tool_use_id: string;
            name: string;
            is_error: boolean;
            content: string;
            /** @constant */
            truncated?: true;
        } | {
            id: string;
            /** @constant */
            type: "agent.file";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            file: {
                id: string;
                filename: string;
                mime_type: string;
                size_bytes: number;
            };
        } | {
            id: string;
            /** @constant */
            type: "agent.mcp_error";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            mcp_server_id: string;
            name: string;
            message: string;
        } | {
            id: string;
            /** @constant */
            type: "agent.context_compacted";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            compacted_turns: number;
        } | {
            id: string;
            /** @constant */
            type: "agent.model_changed";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            from: string;
            to: string;
            /** @enum {unknown} */
            reason: "model_error" | "model_overloaded" | "model_rate_limited";
        } | {
            id: string;
            /** @constant */
            type: "turn.completed";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            /** @enum {unknown} */
            stop_reason: "end_turn" | "max_steps" | "max_output_tokens" | "refusal" | "budget_reached";
            /** @description input_tokens counts all input, cache reads and writes included; null when the turn never ran. */
            usage: {
                input_tokens: number;
                output_tokens: number;
            } | null;
            usage_details: {
                cache_read_input_tokens: number;
                cache_creation_input_tokens: number;
                model_calls: number;
                /** @description What the model calls cost; null if one of their models has no price. */
                cost: {
                    amount: string;
                    currency: string;
                } | null;
                /**
                 * @description Present if the server of a model did not report all usage, as for an answer that was cut off: the missing tokens are estimated, and cost as if they were reported.
                 * @constant
                 */
                estimated?: true;
            } | null;
            /** @description Milliseconds; null for a phase that never happened. first_token_ms and total_ms count from the message; waiting_ms is the time spent waiting for answers. */
            timing: {
                queued_ms: number | null;
                connect_ms: number | null;
                first_token_ms: number | null;
                model_ms: number | null;
                tools_ms: number | null;
                waiting_ms: number | null;
                total_ms: number;
            };
        } | {
            id: string;
            /** @constant */
            type: "turn.cancelled";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            /** @description input_tokens counts all input, cache reads and writes included; null when the turn never ran. */
            usage: {
                input_tokens: number;
                output_tokens: number;
            } | null;
            usage_details: {
                cache_read_input_tokens: number;
                cache_creation_input_tokens: number;
                model_calls: number;
                /** @description What the model calls cost; null if one of their models has no price. */
                cost: {
                    amount: string;
                    currency: string;
                } | null;
                /**
                 * @description Present if the server of a model did not report all usage, as for an answer that was cut off: the missing tokens are estimated, and cost as if they were reported.
                 * @constant
                 */
                estimated?: true;
            } | null;
            /** @description Milliseconds; null for a phase that never happened. first_token_ms and total_ms count from the message; waiting_ms is the time spent waiting for answers. */
            timing: {
                queued_ms: number | null;
                connect_ms: number | null;
                first_token_ms: number | null;
                model_ms: number | null;
                tools_ms: number | null;
                waiting_ms: number | null;
                total_ms: number;
            };
        } | {
            id: string;
            /** @constant */
            type: "turn.failed";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            error: {
                /** @enum {unknown} */
                type: "model_error" | "model_overloaded" | "model_rate_limited" | "context_too_long" | "turn_timeout" | "terminated" | "internal_error";
                message: string;
                retryable: boolean;
            };
            /** @description input_tokens counts all input, cache reads and writes included; null when the turn never ran. */
            usage: {
                input_tokens: number;
                output_tokens: number;
            } | null;
            usage_details: {
                cache_read_input_tokens: number;
                cache_creation_input_tokens: number;
                model_calls: number;
                /** @description What the model calls cost; null if one of their models has no price. */
                cost: {
                    amount: string;
                    currency: string;
                } | null;
                /**
                 * @description Present if the server of a model did not report all usage, as for an answer that was cut off: the missing tokens are estimated, and cost as if they were reported.
                 * @constant
                 */
                estimated?: true;
            } | null;
            /** @description Milliseconds; null for a phase that never happened. first_token_ms and total_ms count from the message; waiting_ms is the time spent waiting for answers. */
            timing: {
                queued_ms: number | null;
                connect_ms: number | null;
                first_token_ms: number | null;
                model_ms: number | null;
                tools_ms: number | null;
                waiting_ms: number | null;
                total_ms: number;
            };
        };
        /** user.message */
        UserMessageEvent: {
            id: string;
            /** @constant */
            type: "user.message";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            content: string;
            files: {
                id: string;
                filename: string;
                mime_type: string;
                size_bytes: number;
            }[];
            skills: {
                id: string;
                name: string;
                description: string;
            }[];
            /** @description Only in a message that a schedule sent. */
            schedule_id?: string;
            /** @description The model of this message’s turn, if the message names one. */
            model_id?: string;
            /** @description Thinking in this message’s turn, if the message sets it. */
            thinking_enabled?: boolean;
            /** @description Number of the model call in the open turn that first got the message. */
            delivered_at_step?: number;
            /**
             * @description Only while the message waits (docs/contract.md §9).
             * @enum {unknown}
             */
            state?: "queued" | "steering";
        };
        /** user.message */
        WaitingMessage: {
            id: string;
            /** @constant */
            type: "user.message";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            content: string;
            files: {
                id: string;
                filename: string;
                mime_type: string;
                size_bytes: number;
            }[];
            skills: {
                id: string;
                name: string;
                description: string;
            }[];
            /** @description Only in a message that a schedule sent. */
            schedule_id?: string;
            /** @description The model of this message’s turn, if the message names one. */
            model_id?: string;
            /** @description Thinking in this message’s turn, if the message sets it. */
            thinking_enabled?: boolean;
            /** @description Number of the model call in the open turn that first got the message. */
            delivered_at_step?: number;
            /**
             * @description Only while the message waits (docs/contract.md §9).
             * @enum {unknown}
             */
            state: "queued" | "steering";
        };
        /** turn.continued */
        TurnContinuedEvent: {
            id: string;
            /** @constant */
            type: "turn.continued";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            continues_turn_id: string;
        };
        AnswerEvent: {
            id: string;
            /** @constant */
            type: "user.tool_confirmation";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            tool_use_id: string;
            /** @enum {unknown} */
            result: "allow" | "deny";
            deny_message: string | null;
            /** @description The actor in the answer; null without one. */
            actor: string | null;
        } | {
            id: string;
            /** @constant */
            type: "user.custom_tool_result";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            tool_use_id: string;
            content: string;
            is_error: boolean;
            /** @description The actor in the answer; null without one. */
            actor: string | null;
        } | {
            id: string;
            /** @constant */
            type: "user.elicitation_result";
            turn_id: string;
            /** Format: date-time */
            created_at: string;
            elicitation_id: string;
            /** @enum {unknown} */
            action: "accept" | "decline" | "cancel";
            content: {
                [key: string]: unknown;
            } | null;
            /** @description The actor in the answer; null without one. */
            actor: string | null;
        };
        DeltaEvent: {
            /** @enum {unknown} */
            type: "agent.message.delta" | "agent.thinking.delta";
            turn_id: string;
            message_id: string;
            content: string;
        };
        RetryEvent: {
            /** @constant */
            type: "agent.retry.delta";
            turn_id: string;
            /** @enum {unknown} */
            reason: "model_error" | "model_overloaded" | "model_rate_limited" | "context_too_long";
            /** @description Number of failures of the call so far. */
            attempt: number;
            /** Format: date-time */
            retry_at: string;
        };
        StreamFrame: {
            /** @description Send it as `Last-Event-ID` to continue after this frame. */
            id: string;
            /** @enum {unknown} */
            event: "user.message" | "turn.continued" | "agent.thinking" | "agent.message" | "user.tool_confirmation" | "user.custom_tool_result" | "user.elicitation_result" | "agent.tool_use" | "agent.custom_tool_use" | "agent.requires_action" | "agent.tool_progress" | "agent.tool_result" | "agent.file" | "agent.mcp_error" | "agent.context_compacted" | "agent.model_changed" | "turn.completed" | "turn.cancelled" | "turn.failed" | "agent.message.delta" | "agent.thinking.delta" | "agent.retry.delta";
            data: string;
        };
        /**
         * @example {
         *       "model_id": "claude-sonnet-5-5",
         *       "instruction": "Answer in one sentence.",
         *       "metadata": {
         *         "customer": "4711"
         *       }
         *     }
         */
        NewSession: {
            /** @description An id of GET /v1/models. */
            model_id: string;
            /** @default true */
            thinking_enabled?: boolean;
            /** @default null */
            instruction?: string | null;
            /** @default [] */
            mcp_servers?: string[];
            /** @default {} */
            metadata?: {
                [key: string]: string;
            };
            /** @default [] */
            tools?: components["schemas"]["SessionTool"][];
            /**
             * @description The models that a turn goes on with when its model fails, in order.
             * @default []
             */
            fallback_model_ids?: string[];
            /** @default null */
            budget?: {
                max_cost: {
                    /** @description A decimal number above 0, with at most 9 digits before and 6 after the point. */
                    amount: string;
                    /** @description That of the catalogue. */
                    currency: string;
                };
                /**
                 * @description pause: the turn waits until the budget changes. stop: it ends with stop_reason `budget_reached`.
                 * @enum {unknown}
                 */
                on_reached: "pause" | "stop";
            } | null;
        };
        /**
         * @example {
         *       "metadata": {
         *         "customer": "4712",
         *         "obsolete": null
         *       }
         *     }
         */
        SessionChange: {
            /** @description JSON Merge Patch (RFC 7396): a value sets its key, null deletes it, absent keys stay. */
            metadata?: {
                [key: string]: string | null;
            };
            /** @description Replaces the whole budget; null removes it. */
            budget?: {
                max_cost: {
                    /** @description A decimal number above 0, with at most 9 digits before and 6 after the point. */
                    amount: string;
                    /** @description That of the catalogue. */
                    currency: string;
                };
                /**
                 * @description pause: the turn waits until the budget changes. stop: it ends with stop_reason `budget_reached`.
                 * @enum {unknown}
                 */
                on_reached: "pause" | "stop";
            } | null;
        };
        /**
         * @example {
         *       "events": [
         *         {
         *           "type": "user.tool_confirmation",
         *           "tool_use_id": "toolu_01",
         *           "result": "allow"
         *         }
         *       ]
         *     }
         */
        NewAnswers: {
            events: ({
                /** @constant */
                type: "user.tool_confirmation";
                /** @description A tool_use_id in required_actions. */
                tool_use_id: string;
                /** @enum {string} */
                result: "allow" | "deny";
                /** @description Only with deny: a message for the agent. */
                deny_message?: string | null;
                /** @description Who decided: any text, stored in the event. */
                actor?: string;
            } | {
                /** @constant */
                type: "user.custom_tool_result";
                /** @description A tool_use_id in required_actions. */
                tool_use_id: string;
                content: string;
                is_error?: boolean;
                /** @description Who decided: any text, stored in the event. */
                actor?: string;
            } | {
                /** @constant */
                type: "user.elicitation_result";
                /** @description A tool_use_id in required_actions. */
                elicitation_id: string;
                /** @enum {string} */
                action: "accept" | "decline" | "cancel";
                /** @description Only with accept of a form: it has to fit requested_schema. */
                content?: {
                    [key: string]: unknown;
                } | null;
                /** @description Who decided: any text, stored in the event. */
                actor?: string;
            })[];
        };
        NewMessage: {
            content: string;
            /** @default [] */
            files?: string[];
            /** @default [] */
            skills?: (string | {
                id: string;
            } | {
                skill_id: string;
            })[];
            /** @description The model of this turn, if it differs from the session’s: an id of GET /v1/models. */
            model_id?: string;
            /** @description Thinking in this turn, if it differs from the session’s. */
            thinking_enabled?: boolean;
            /**
             * @description What to do while a turn is open. reject: 409; queue: the message starts its own turn afterwards; steer: the open turn’s next model call gets it.
             * @default reject
             * @enum {string}
             */
            when_running?: "reject" | "queue" | "steer";
        };
        NewMcpServer: {
            name: string;
            /** @description Streamable HTTP endpoint: https, at a public address. */
            url: string;
            /** @description NONE has no further fields, BEARER needs token, HEADER needs name and value, OAUTH may have client_id, client_secret and scopes. */
            auth?: {
                /**
                 * @default NONE
                 * @enum {string}
                 */
                type?: "NONE" | "BEARER" | "HEADER" | "OAUTH";
                token?: string;
                name?: string;
                value?: string;
                /** @description A client registered at the authorization server; without it the service registers one. */
                client_id?: string;
                client_secret?: string;
                /** @description Scopes to request; without it, those in the metadata of the resource. */
                scopes?: string[];
            };
            /** @default null */
            allowed_tools?: string[] | null;
            /**
             * @description If true, new and changed tools are held back until POST …/accept-tools accepts them.
             * @default false
             */
            pin_tools?: boolean;
        };
        McpServerChange: {
            name?: string;
            /** @description NONE has no further fields, BEARER needs token, HEADER needs name and value, OAUTH may have client_id, client_secret and scopes. */
            auth?: {
                /**
                 * @default NONE
                 * @enum {string}
                 */
                type?: "NONE" | "BEARER" | "HEADER" | "OAUTH";
                token?: string;
                name?: string;
                value?: string;
                /** @description A client registered at the authorization server; without it the service registers one. */
                client_id?: string;
                client_secret?: string;
                /** @description Scopes to request; without it, those in the metadata of the resource. */
                scopes?: string[];
            };
            allowed_tools?: string[] | null;
            /** @description If true, new and changed tools are held back until POST …/accept-tools accepts them. */
            pin_tools?: boolean;
        };
        AcceptedMcpTools: {
            /** @description Tools to accept; without it, those in digests; without both, every changed tool. */
            names?: string[];
            /** @description Digests of the versions that you have read, by tool name. Another version is not accepted. */
            digests?: {
                [key: string]: string;
            };
        };
        NewWebhook: {
            /** @description Where deliveries are sent: https, at a public address. */
            url: string;
            event_types: ("turn.completed" | "turn.cancelled" | "turn.failed" | "agent.requires_action" | "agent.file")[];
            /** @default null */
            description?: string | null;
            /**
             * @description A disabled webhook receives nothing; events of that time are not sent later.
             * @default true
             */
            enabled?: boolean;
        };
        /**
         * @example {
         *       "name": "Daily report",
         *       "cron": "0 8 * * MON-FRI",
         *       "timezone": "Europe/Berlin",
         *       "target": {
         *         "type": "new_session",
         *         "session": {
         *           "model_id": "claude-sonnet-5-5"
         *         }
         *       },
         *       "message": {
         *         "content": "Which orders are late?"
         *       }
         *     }
         */
        NewSchedule: {
            /** @default null */
            name?: string | null;
            /** @description Five fields: minute, hour, day of month, month, day of week. If both kinds of day are given, either matches. */
            cron?: string;
            /** @description A single time in the future: a timestamp with an offset, stored to the second. */
            at?: string;
            /**
             * @description IANA time zone of `cron`.
             * @default UTC
             */
            timezone?: string;
            target: {
                /** @enum {string} */
                type: "new_session" | "existing_session";
                /**
                 * @description For `new_session`: the body of POST sessions.
                 * @example {
                 *       "model_id": "claude-sonnet-5-5",
                 *       "instruction": "Answer in one sentence.",
                 *       "metadata": {
                 *         "customer": "4711"
                 *       }
                 *     }
                 */
                session?: {
                    /** @description An id of GET /v1/models. */
                    model_id: string;
                    /** @default true */
                    thinking_enabled?: boolean;
                    /** @default null */
                    instruction?: string | null;
                    /** @default [] */
                    mcp_servers?: string[];
                    /** @default {} */
                    metadata?: {
                        [key: string]: string;
                    };
                    /** @default [] */
                    tools?: components["schemas"]["SessionTool"][];
                    /**
                     * @description The models that a turn goes on with when its model fails, in order.
                     * @default []
                     */
                    fallback_model_ids?: string[];
                    /** @default null */
                    budget?: {
                        max_cost: {
                            /** @description A decimal number above 0, with at most 9 digits before and 6 after the point. */
                            amount: string;
                            /** @description That of the catalogue. */
                            currency: string;
                        };
                        /**
                         * @description pause: the turn waits until the budget changes. stop: it ends with stop_reason `budget_reached`.
                         * @enum {unknown}
                         */
                        on_reached: "pause" | "stop";
                    } | null;
                };
                /** @description For `existing_session`. */
                session_id?: string;
            };
            /** @description The body of POST messages. */
            message: {
                content: string;
                /** @default [] */
                files?: string[];
                /** @default [] */
                skills?: (string | {
                    id: string;
                } | {
                    skill_id: string;
                })[];
                /** @description The model of this turn, if it differs from the session’s: an id of GET /v1/models. */
                model_id?: string;
                /** @description Thinking in this turn, if it differs from the session’s. */
                thinking_enabled?: boolean;
            };
            /**
             * @description What to do if the session has an open turn.
             * @default skip
             * @enum {string}
             */
            overlap?: "skip" | "queue";
            /**
             * @description The last time, inclusive: a timestamp with an offset, stored to the second.
             * @default null
             */
            end_at?: string | null;
        };
        ScheduleChange: {
            name?: string | null;
            /** @description Five fields: minute, hour, day of month, month, day of week. If both kinds of day are given, either matches. Replaces `at`. */
            cron?: string;
            /** @description A single time in the future: a timestamp with an offset, stored to the second. Replaces `cron`. */
            at?: string;
            /** @description IANA time zone of `cron`. */
            timezone?: string;
            /** @description The body of POST messages. */
            message?: {
                content: string;
                /** @default [] */
                files?: string[];
                /** @default [] */
                skills?: (string | {
                    id: string;
                } | {
                    skill_id: string;
                })[];
                /** @description The model of this turn, if it differs from the session’s: an id of GET /v1/models. */
                model_id?: string;
                /** @description Thinking in this turn, if it differs from the session’s. */
                thinking_enabled?: boolean;
            };
            /**
             * @description What to do if the session has an open turn.
             * @enum {string}
             */
            overlap?: "skip" | "queue";
            /** @description The last time, inclusive: a timestamp with an offset, stored to the second. */
            end_at?: string | null;
        };
        WebhookChange: {
            /** @description Where deliveries are sent: https, at a public address. */
            url?: string;
            event_types?: ("turn.completed" | "turn.cancelled" | "turn.failed" | "agent.requires_action" | "agent.file")[];
            description?: string | null;
            /** @description A disabled webhook receives nothing; events of that time are not sent later. Enabling clears `disabled_reason`. */
            enabled?: boolean;
        };
        EventFilter: {
            /** @description Only events of this turn. */
            turn_id?: string;
            /** @description Only events of these types, separated by commas: user.message, turn.continued, agent.thinking, agent.message, user.tool_confirmation, user.custom_tool_result, user.elicitation_result, agent.tool_use, agent.custom_tool_use, agent.requires_action, agent.tool_progress, agent.tool_result, agent.file, agent.mcp_error, agent.context_compacted, agent.model_changed, turn.completed, turn.cancelled, turn.failed. */
            types?: string;
            /**
             * @description `asc`: oldest first (the default); `desc`: newest first.
             * @enum {string}
             */
            order?: "asc" | "desc";
        };
        SessionFilter: {
            /** @description true: only sessions whose turn waits for an answer; false: only sessions whose turn does not. */
            requires_action?: boolean;
            /** @enum {string} */
            status?: "IDLE" | "RUNNING" | "COMPLETE" | "CANCELLED" | "FAILED";
            /**
             * Format: date-time
             * @description Exclusive.
             */
            created_after?: string;
            /**
             * Format: date-time
             * @description Exclusive.
             */
            created_before?: string;
            /** @description `metadata[KEY]=VALUE`: only sessions with all of these pairs. */
            metadata?: {
                [key: string]: string;
            };
        };
        UsageGroup: {
            /** @description Null for turns of sessions without the metadata key. */
            group: string | null;
            turns: number;
            model_calls: number;
            /** @description All input, cache reads and writes included. */
            input_tokens: number;
            output_tokens: number;
            cache_read_input_tokens: number;
            cache_creation_input_tokens: number;
            /** @description Null if a model call of the group has no price. */
            cost: {
                amount: string;
                currency: string;
            } | null;
        };
        UsageFilter: {
            /**
             * Format: date-time
             * @description Inclusive; 30 days before `to` when absent.
             */
            from?: string;
            /**
             * Format: date-time
             * @description Exclusive; now when absent.
             */
            to?: string;
            /** @description `day` (of UTC, the default), `model`, `session` or `metadata.KEY`. */
            group_by?: string;
        };
        FileFilter: {
            /** @description Only files that the agent delivered in this session */
            session_id?: string;
            /** @enum {string} */
            origin?: "UPLOAD" | "OUTPUT";
        };
        WebhookDeliveryFilter: {
            /**
             * @description Only deliveries in this state.
             * @enum {string}
             */
            state?: "pending" | "delivered" | "failed";
        };
        DownloadLink: {
            /** @description Signed link to the content; it needs no key. */
            url: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
