// Made from the OpenAPI document of the service by `npm run client:generate`. Not to be edited.

export interface components {
    schemas: {
        ErrorDetails: {
            bad_request?: null;
            authentication_error?: null;
            insufficient_scope?: {
                /** @description The permission that the key lacks. */
                required: string;
            };
            invalid_link?: null;
            not_found?: null;
            skill_not_found?: {
                /** @description The ids that name no skill. */
                skill_ids: string[];
            };
            mcp_server_not_found?: {
                /** @description The ids that name no MCP server. */
                mcp_server_ids: string[];
            };
            session_not_found?: null;
            file_not_found?: {
                /** @description The ids that name no file. */
                file_ids: string[];
            };
            webhook_not_found?: null;
            delivery_not_found?: null;
            schedule_not_found?: null;
            tool_use_not_found?: {
                /** @description The ids that name no call of the session. */
                tool_use_ids: string[];
            };
            elicitation_not_found?: {
                /** @description The ids that name no question in the session. */
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
                /** @description What the turn waits for. */
                required_actions: components["schemas"]["RequiredAction"][];
            };
            queue_full?: null;
            replay_too_long?: null;
            message_delivered?: null;
            turn_not_continuable?: {
                /** @description `no_turn`: the session has none. `completed`: there is nothing left to do. `context_too_long`: it would fail again. */
                reason: components["schemas"]["NotContinuableReason"];
            };
            webhook_limit_reached?: null;
            schedule_limit_reached?: null;
            webhook_disabled?: null;
            tool_use_not_pending?: {
                /** @description Id of the call. */
                tool_use_id: string;
                /** @enum {string} */
                state: "not_asked" | "not_required" | "allowed" | "denied" | "answered" | "expired" | "cancelled";
            };
            elicitation_not_pending?: {
                /** @description Id of the question. */
                elicitation_id: string;
                /** @enum {string} */
                state: "answered" | "expired" | "withdrawn" | "lost" | "cancelled";
            };
            tools_changed?: {
                /** @description Names of tools. */
                tools: string[];
            };
            idempotency_key_in_use?: null;
            content_too_large?: {
                /**
                 * Format: int64
                 * @description The limit, in bytes.
                 */
                max_bytes: number;
            };
            file_too_large?: {
                /**
                 * Format: int64
                 * @description The limit, in bytes.
                 */
                max_bytes: number;
            };
            skill_bundle_too_large?: {
                /**
                 * Format: int64
                 * @description The limit, in bytes.
                 */
                max_bytes: number;
            };
            storage_limit_reached?: {
                /**
                 * Format: int64
                 * @description The limit, in bytes.
                 */
                max_bytes: number;
            };
            unsupported_media_type?: null;
            validation_error?: {
                /** @description Every part of the request that is wrong; at most 50. */
                errors: components["schemas"]["ErrorPlace"][];
            };
            invalid_cursor?: null;
            invalid_filename?: null;
            invalid_skill_bundle?: null;
            invalid_mcp_server_url?: null;
            invalid_webhook_url?: null;
            mcp_probe_failed?: null;
            mcp_oauth_failed?: null;
            unknown_mcp_tool?: {
                /** @description Names of tools. */
                tools: string[];
            };
            unknown_model?: {
                /** @description The ids of the models that can be used. */
                available_models: string[];
            };
            metadata_too_large?: null;
            idempotency_key_reused?: null;
            rate_limit_exceeded?: null;
            too_many_running_turns?: {
                /**
                 * Format: int64
                 * @description The limit of the project.
                 */
                max_running_turns: number;
            };
            too_many_streams?: null;
            too_many_requests?: null;
            internal_error?: null;
            storage_error?: null;
            service_unavailable?: null;
        };
        /**
         * RequiredAction
         * @description What a turn waits for: a decision, a result, an answer to a question, or a larger budget.
         */
        RequiredAction: components["schemas"]["ToolConfirmationAction"] | components["schemas"]["CustomToolResultAction"] | components["schemas"]["BudgetAction"] | components["schemas"]["ElicitationAction"];
        /**
         * ToolConfirmationAction
         * @description A call that a person must allow or deny. Answer with `user.tool_confirmation`.
         */
        ToolConfirmationAction: {
            /**
             * @description Always `tool_confirmation`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "tool_confirmation";
            /** @description Id of the call. Send it in the answer. */
            tool_use_id: string;
            /** @description The name of the tool, as the model sees it. */
            name: string;
            /** @description The input of the call, as the model wrote it. */
            input: {
                [key: string]: unknown;
            };
            /**
             * Format: date-time
             * @description When the wait ends without an answer.
             */
            expires_at: string;
        };
        /**
         * CustomToolResultAction
         * @description A call of a custom tool, which your client runs. Answer with `user.custom_tool_result`.
         */
        CustomToolResultAction: {
            /**
             * @description Always `custom_tool_result`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "custom_tool_result";
            /** @description Id of the call. Send it in the answer. */
            tool_use_id: string;
            /** @description The name of the tool, as the model sees it. */
            name: string;
            /** @description The input of the call, as the model wrote it. */
            input: {
                [key: string]: unknown;
            };
            /**
             * Format: date-time
             * @description When the wait ends without an answer.
             */
            expires_at: string;
        };
        /**
         * BudgetAction
         * @description A model call that does not fit into the session’s budget. PATCH the session with a larger one.
         */
        BudgetAction: {
            /**
             * @description Always `budget`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "budget";
            /** @description What the session has spent. */
            spent: components["schemas"]["Money"];
            /** @description The budget that is too small. */
            max_cost: components["schemas"]["Money"];
            /**
             * Format: date-time
             * @description When the wait ends without an answer.
             */
            expires_at: string;
        };
        /**
         * Money
         * @description An amount of money.
         */
        Money: {
            /** @description A decimal number without an exponent, such as `0.012345`. */
            amount: string;
            /** @description The currency of the catalogue’s prices, such as `USD`. */
            currency: string;
        };
        /**
         * ElicitationAction
         * @description A question that an MCP server asks during a call. Answer with `user.elicitation_result`.
         */
        ElicitationAction: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            type: "elicitation";
        } & (components["schemas"]["ElicitationFormAction"] | components["schemas"]["ElicitationUrlAction"]);
        /**
         * ElicitationFormAction
         * @description An MCP server asks for values.
         */
        ElicitationFormAction: {
            /**
             * @description Always `elicitation`.
             * @constant
             */
            type: "elicitation";
            /** @description Id of the question. Send it in the answer. */
            elicitation_id: string;
            /** @description Id of the call during which the server asks. */
            tool_use_id: string;
            /** @description The name of the called tool, as the model sees it. */
            name: string;
            /**
             * @description Always `form`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            mode: "form";
            /** @description What the server asks, for the person who answers. */
            message: string;
            /** @description A flat JSON Schema of the answer’s content. */
            requested_schema: {
                [key: string]: unknown;
            };
            /**
             * Format: date-time
             * @description When the wait ends without an answer.
             */
            expires_at: string;
        };
        /**
         * ElicitationUrlAction
         * @description An MCP server asks a person to open an address.
         */
        ElicitationUrlAction: {
            /**
             * @description Always `elicitation`.
             * @constant
             */
            type: "elicitation";
            /** @description Id of the question. Send it in the answer. */
            elicitation_id: string;
            /** @description Id of the call during which the server asks. */
            tool_use_id: string;
            /** @description The name of the called tool, as the model sees it. */
            name: string;
            /**
             * @description Always `url`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            mode: "url";
            /** @description What the server asks, for the person who answers. */
            message: string;
            /** @description For the person to open. The service never opens it. */
            url: string;
            /**
             * Format: date-time
             * @description When the wait ends without an answer.
             */
            expires_at: string;
        };
        /**
         * NotContinuableReason
         * @description `no_turn`: the session has none. `completed`: there is nothing left to do. `context_too_long`: it would fail again.
         * @enum {string}
         */
        NotContinuableReason: "no_turn" | "completed" | "context_too_long";
        /**
         * ErrorPlace
         * @description A part of the request that is wrong.
         */
        ErrorPlace: {
            /** @description JSON Pointer into the body, or /query/<name>. */
            path: string;
            /** @description What is wrong there. */
            message: string;
        };
        /**
         * Skill
         * @description A package of instructions for the agent.
         * @example {
         *       "id": "skill_01kag8w4e5r6t7y8u9i0o1p2a3",
         *       "name": "order-report",
         *       "description": "How to write the report about late orders.",
         *       "size_bytes": 4096,
         *       "created_at": "2026-11-21T09:40:00.000001Z"
         *     }
         */
        Skill: {
            /** @description Id of the skill. */
            id: string;
            /** @description Its name in `SKILL.md`, unique in the project. */
            name: string;
            /** @description When to use it, as `SKILL.md` says. */
            description: string;
            /**
             * Format: int64
             * @description Size of the package as stored, after normalisation.
             */
            size_bytes: number;
            /**
             * Format: date-time
             * @description When it was uploaded.
             */
            created_at: string;
        };
        /**
         * McpServer
         * @description A registered MCP server. Sessions that name it can use its tools.
         * @example {
         *       "id": "mcp_01kag8u1w2e3r4t5y6u7i8o9p0",
         *       "name": "orders",
         *       "url": "https://mcp.example.com/orders",
         *       "auth": {
         *         "type": "BEARER",
         *         "name": null
         *       },
         *       "allowed_tools": null,
         *       "tools": [
         *         {
         *           "name": "late_orders",
         *           "description": "Lists the orders that are late."
         *         }
         *       ],
         *       "pin_tools": false,
         *       "changed_tools": [],
         *       "server_name": "order-server",
         *       "last_probed_at": "2026-11-21T09:20:00.000001Z",
         *       "last_connected_at": "2026-11-21T09:48:04.100001Z",
         *       "last_connect_error": null,
         *       "created_at": "2026-11-21T09:20:00.000001Z",
         *       "updated_at": "2026-11-21T09:20:00.000001Z"
         *     }
         */
        McpServer: {
            /** @description Id of the MCP server. */
            id: string;
            /** @description Its name, unique in the project. */
            name: string;
            /** @description Its Streamable HTTP endpoint. */
            url: string;
            /** @description How the service proves to the MCP server who it is, without the credential. */
            auth: components["schemas"]["McpServerAuth"];
            /** @description Names of the server’s tools that the agent may call; null: all of them. */
            allowed_tools: string[] | null;
            /** @description The tools that it offered last. */
            tools: components["schemas"]["McpTool"][];
            /** @description If true, new and changed tools are held back until they are accepted. */
            pin_tools: boolean;
            /** @description Tools of a pinned server that are held back until they are accepted. */
            changed_tools: components["schemas"]["ChangedMcpTool"][];
            /** @description What it calls itself; null before the first connection. */
            server_name: string | null;
            /**
             * Format: date-time
             * @description When its tools were last listed by a probe; null before.
             */
            last_probed_at: string | null;
            /**
             * Format: date-time
             * @description When a turn last connected to it; null before.
             */
            last_connected_at: string | null;
            /** @description Why the latest connection of a turn failed; null if it did not. */
            last_connect_error: string | null;
            /**
             * Format: date-time
             * @description When it was registered.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updated_at: string;
        };
        /**
         * McpServerAuth
         * @description How the service proves to the MCP server who it is, without the credential.
         */
        McpServerAuth: {
            /** @description How the service proves to the MCP server who it is. */
            type: components["schemas"]["McpAuthType"];
            /** @description The header name for type HEADER; otherwise null. */
            name: string | null;
            /** @description Only for type OAUTH, like the next two fields. */
            status?: components["schemas"]["AuthorizationStatus"];
            /** @description Where a person authorizes the server; only in the response that starts an authorization. */
            authorization_url?: string | null;
            /**
             * Format: date-time
             * @description When authorization_url expires.
             */
            expires_at?: string | null;
        };
        /**
         * McpAuthType
         * @description How the service proves to the MCP server who it is.
         * @enum {string}
         */
        McpAuthType: "NONE" | "BEARER" | "HEADER" | "OAUTH";
        /**
         * AuthorizationStatus
         * @description `authorization_required`: a person must open `authorization_url`. `authorized`: a person has done so.
         * @enum {string}
         */
        AuthorizationStatus: "authorization_required" | "authorized";
        /**
         * McpTool
         * @description A tool of an MCP server.
         */
        McpTool: {
            /** @description The server’s own name of the tool. */
            name: string;
            /** @description What it does, in the words of the server. */
            description: string;
        };
        /**
         * ChangedMcpTool
         * @description A new or changed tool that is held back until it is accepted.
         * @example {
         *       "name": "late_orders",
         *       "digest": "9f86d081884c7d65",
         *       "before": null,
         *       "after": {
         *         "description": "Lists the orders that are late.",
         *         "input_schema": {
         *           "type": "object",
         *           "properties": {}
         *         }
         *       }
         *     }
         */
        ChangedMcpTool: {
            /** @description The server’s own name of the tool. */
            name: string;
            /** @description Identifies this version of the tool. Send it when you accept the tool. */
            digest: string;
            /** @description The accepted version; null for a new tool. */
            before: components["schemas"]["McpToolVersion"] | null;
            /** @description The version that is held back. */
            after: components["schemas"]["McpToolVersion"];
        };
        /**
         * McpToolVersion
         * @description One version of a tool.
         */
        McpToolVersion: {
            /** @description What it does, in the words of the server. */
            description: string;
            /** @description JSON Schema of its input; null if it is too large to show. */
            input_schema: components["schemas"]["McpToolInputSchema"] | null;
            /** @description What the server says about the effects of the tool; absent if it says nothing. */
            annotations?: components["schemas"]["McpToolAnnotations"];
        };
        /**
         * McpToolInputSchema
         * @description JSON Schema of a tool’s input.
         */
        McpToolInputSchema: {
            [key: string]: unknown;
        };
        /**
         * McpToolAnnotations
         * @description What the server says about the effects of the tool; absent if it says nothing.
         */
        McpToolAnnotations: {
            /**
             * @description Present if the tool changes nothing.
             * @constant
             */
            readOnlyHint?: true;
            /**
             * @description Present if repeated calls have no further effect.
             * @constant
             */
            idempotentHint?: true;
        };
        /**
         * Model
         * @description A model that sessions can use.
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
            /** @description Send it as `model_id`. */
            id: string;
            /** @description Its name for people. */
            display_name: string;
            /**
             * Format: int64
             * @description How many tokens a request and its answer may have together.
             */
            context_window: number;
            /**
             * Format: int64
             * @description How many tokens an answer may have.
             */
            max_output_tokens: number;
            /** @description Whether it can think before it answers. */
            supports_thinking: boolean;
            /** @description Per million tokens; null if unknown. */
            price: components["schemas"]["ModelPrice"] | null;
        };
        /**
         * ModelPrice
         * @description What a million tokens of a model cost.
         */
        ModelPrice: {
            /** @description Three letters, such as `USD`. */
            currency: string;
            /**
             * Format: double
             * @description A million input tokens that are neither read from a cache nor written to it.
             */
            input: number;
            /**
             * Format: double
             * @description A million output tokens.
             */
            output: number;
            /**
             * Format: double
             * @description A million input tokens that are read from a cache.
             */
            cache_read: number;
            /**
             * Format: double
             * @description A million input tokens that are written to a cache.
             */
            cache_write: number;
        };
        /**
         * Session
         * @description A conversation with the agent.
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
            /** @description Id of the session. */
            id: string;
            /** @description Follows the latest turn. `IDLE`: there is none. `RUNNING`: it is queued, runs or waits for answers. The others: how it ended. */
            status: components["schemas"]["SessionStatus"];
            /** @description The model of its turns. */
            model_id: string;
            /** @description Whether the model thinks before it answers. */
            thinking_enabled: boolean;
            /** @description What the agent is for and how it should work. */
            instruction: string | null;
            /** @description Ids of the MCP servers whose tools the agent can call. */
            mcp_servers: string[];
            /** @description Your own pairs of texts. */
            metadata: {
                [key: string]: string;
            };
            /** @description The first 120 characters of the first message; null without one. */
            preview: string | null;
            /** @description Permissions of MCP servers’ tools, and custom tools. */
            tools: components["schemas"]["SessionTool"][];
            /** @description What the open turn waits for. */
            required_actions: components["schemas"]["RequiredAction"][];
            /** @description The waiting messages of a session. */
            queue: components["schemas"]["SessionQueue"];
            /** @description The models that a turn goes on with when its model fails, in order. */
            fallback_model_ids: string[];
            /** @description What the model calls of the session may cost; null: as much as they need. */
            budget: components["schemas"]["Budget"] | null;
            /** @description What the model calls of its turns cost so far; null if one of their models has no price. */
            cost: components["schemas"]["Money"] | null;
            /** @description True if POST continue can continue the last turn. */
            continuable: boolean;
            /** @description Id of the latest turn; null without one. */
            last_turn_id: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When its metadata or budget last changed, or its latest turn changed its state.
             */
            updated_at: string;
        };
        /**
         * SessionStatus
         * @description Follows the latest turn. `IDLE`: there is none. `RUNNING`: it is queued, runs or waits for answers. The others: how it ended.
         * @enum {string}
         */
        SessionStatus: "IDLE" | "RUNNING" | "COMPLETE" | "CANCELLED" | "FAILED";
        /**
         * SessionTool
         * @description The permissions and questions of an MCP server’s tools, or a tool that your client runs.
         */
        SessionTool: components["schemas"]["McpToolset"] | components["schemas"]["CustomTool"];
        /**
         * McpToolset
         * @description How the tools of one of the session’s MCP servers may be used.
         */
        McpToolset: {
            /**
             * @description Always `mcp_toolset`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "mcp_toolset";
            /** @description One of the session’s mcp_servers. */
            mcp_server_id: string;
            /** @description For the tools that `configs` does not name. */
            default_config?: components["schemas"]["McpDefaultConfig"];
            /** @description Single tools that differ from `default_config`. */
            configs?: components["schemas"]["McpToolConfig"][];
            /** @description The server may ask questions while a call runs; default false. */
            elicitation?: boolean;
        };
        /**
         * McpDefaultConfig
         * @description For the tools that `configs` does not name.
         */
        McpDefaultConfig: {
            /** @description Whether a person must allow the calls of a tool. */
            permission_policy: components["schemas"]["PermissionPolicy"];
        };
        /**
         * PermissionPolicy
         * @description Whether a person must allow the calls of a tool.
         */
        PermissionPolicy: {
            /** @description `always_allow`: the calls run. `always_ask`: each call waits until a person allows it. */
            type: components["schemas"]["PermissionPolicyType"];
        };
        /**
         * PermissionPolicyType
         * @description `always_allow`: the calls run. `always_ask`: each call waits until a person allows it.
         * @enum {string}
         */
        PermissionPolicyType: "always_allow" | "always_ask";
        /**
         * McpToolConfig
         * @description The permission of one tool.
         */
        McpToolConfig: {
            /** @description The server’s own name of the tool. */
            name: string;
            /** @description Whether a person must allow the calls of a tool. */
            permission_policy: components["schemas"]["PermissionPolicy"];
        };
        /**
         * CustomTool
         * @description A tool that your client runs: the turn waits for its result.
         */
        CustomTool: {
            /**
             * @description Always `custom`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "custom";
            /** @description Its name. Built-in names and names that begin with `mcp__` are taken. */
            name: string;
            /** @description What it does and when to use it, for the model. */
            description: string;
            /** @description JSON Schema 2020-12 of the tool’s input; at most 32 KiB as compact JSON. */
            input_schema: components["schemas"]["CustomToolInputSchema"];
        };
        /**
         * CustomToolInputSchema
         * @description JSON Schema 2020-12 of the tool’s input; at most 32 KiB as compact JSON.
         */
        CustomToolInputSchema: {
            /**
             * @description Always `object`.
             * @constant
             */
            type: "object";
        } & {
            [key: string]: unknown;
        };
        /**
         * SessionQueue
         * @description The waiting messages of a session.
         */
        SessionQueue: {
            /**
             * Format: int64
             * @description Number of waiting messages.
             */
            length: number;
            /** @description `open`: the first one starts when the open turn completes. `held`: none starts automatically, because the last turn did not complete. */
            state: components["schemas"]["QueueState"];
        };
        /**
         * QueueState
         * @description `open`: the first one starts when the open turn completes. `held`: none starts automatically, because the last turn did not complete.
         * @enum {string}
         */
        QueueState: "open" | "held";
        /**
         * Budget
         * @description What the model calls of a session may cost, and what happens to a turn that reaches it.
         */
        Budget: {
            /** @description The most that all model calls of the session may cost. */
            max_cost: components["schemas"]["Money"];
            /** @description `pause`: the turn waits until the budget changes. `stop`: it ends with stop_reason `budget_reached`. */
            on_reached: components["schemas"]["OnBudgetReached"];
        };
        /**
         * OnBudgetReached
         * @description `pause`: the turn waits until the budget changes. `stop`: it ends with stop_reason `budget_reached`.
         * @enum {string}
         */
        OnBudgetReached: "pause" | "stop";
        /**
         * File
         * @description A file that a client uploaded, or that the agent delivered.
         * @example {
         *       "id": "file_01kag8x5t6y7u8i9o0p1a2s3d4",
         *       "filename": "orders.csv",
         *       "mime_type": "text/csv",
         *       "size_bytes": 20480,
         *       "origin": "UPLOAD",
         *       "session_id": null,
         *       "created_at": "2026-11-21T09:47:00.000001Z"
         *     }
         */
        File: {
            /** @description Id of the file. */
            id: string;
            /** @description Its name with the extension. */
            filename: string;
            /** @description Its media type, found from the extension of its name. */
            mime_type: string;
            /**
             * Format: int64
             * @description Its size in bytes.
             */
            size_bytes: number;
            /** @description `UPLOAD`: a client uploaded it. `OUTPUT`: the agent delivered it. */
            origin: components["schemas"]["FileOrigin"];
            /** @description The session in which the agent delivered it; null for an upload. */
            session_id: string | null;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            created_at: string;
        };
        /**
         * FileOrigin
         * @description `UPLOAD`: a client uploaded it. `OUTPUT`: the agent delivered it.
         * @enum {string}
         */
        FileOrigin: "UPLOAD" | "OUTPUT";
        /**
         * Webhook
         * @description An address that is told about events.
         * @example {
         *       "id": "whk_01kag8v3w4e5r6t7y8u9i0o1p2",
         *       "url": "https://example.com/agent-events",
         *       "event_types": [
         *         "turn.completed",
         *         "turn.failed"
         *       ],
         *       "description": null,
         *       "enabled": true,
         *       "disabled_reason": null,
         *       "created_at": "2026-11-21T09:30:00.000001Z",
         *       "updated_at": "2026-11-21T09:30:00.000001Z"
         *     }
         */
        Webhook: {
            /** @description Id of the webhook. */
            id: string;
            /** @description Where deliveries are sent. */
            url: string;
            /** @description The types of events that are sent. */
            event_types: components["schemas"]["WebhookEventType"][];
            /** @description Your own note about the webhook. */
            description: string | null;
            /** @description A disabled webhook receives nothing; events of that time are not sent later. */
            enabled: boolean;
            /** @description Why the service disabled it; null if it is enabled, or if a client disabled it. */
            disabled_reason: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updated_at: string;
        };
        /**
         * WebhookEventType
         * @description A type of events that a webhook can be told about.
         * @enum {string}
         */
        WebhookEventType: "turn.completed" | "turn.cancelled" | "turn.failed" | "agent.requires_action" | "agent.file";
        /**
         * WebhookWithSecret
         * @description A webhook with its secret.
         * @example {
         *       "id": "whk_01kag8v3w4e5r6t7y8u9i0o1p2",
         *       "url": "https://example.com/agent-events",
         *       "event_types": [
         *         "turn.completed",
         *         "turn.failed"
         *       ],
         *       "description": null,
         *       "enabled": true,
         *       "disabled_reason": null,
         *       "created_at": "2026-11-21T09:30:00.000001Z",
         *       "updated_at": "2026-11-21T09:30:00.000001Z",
         *       "secret": "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
         *     }
         */
        WebhookWithSecret: {
            /** @description Id of the webhook. */
            id: string;
            /** @description Where deliveries are sent. */
            url: string;
            /** @description The types of events that are sent. */
            event_types: components["schemas"]["WebhookEventType"][];
            /** @description Your own note about the webhook. */
            description: string | null;
            /** @description A disabled webhook receives nothing; events of that time are not sent later. */
            enabled: boolean;
            /** @description Why the service disabled it; null if it is enabled, or if a client disabled it. */
            disabled_reason: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updated_at: string;
            /** @description Verifies the signatures. Shown only in this response. */
            secret: string;
        };
        /**
         * WebhookDelivery
         * @description What is sent to a webhook for one event, with its attempts.
         * @example {
         *       "id": "dlv_01kag8z5m2n3b4v5c6x7z8a9s0",
         *       "event_type": "turn.completed",
         *       "event_id": "evt_01kag8z5k2j3h4g5f6d7s8a9p0",
         *       "state": "delivered",
         *       "attempts": [
         *         {
         *           "at": "2026-11-21T09:48:09.800001Z",
         *           "status": 204,
         *           "error": null,
         *           "duration_ms": 41
         *         }
         *       ],
         *       "next_attempt_at": null,
         *       "created_at": "2026-11-21T09:48:09.700001Z"
         *     }
         */
        WebhookDelivery: {
            /** @description Sent as `webhook-id` with every attempt. */
            id: string;
            /** @description The type of its event; `webhook.test` for a test. */
            event_type: components["schemas"]["DeliveredEventType"];
            /** @description Id of its event; null for `webhook.test`. */
            event_id: string | null;
            /** @description `pending`: another attempt follows. `delivered`: the receiver answered with 2xx. `failed`: given up. */
            state: components["schemas"]["DeliveryState"];
            /** @description Oldest first; the latest 50. */
            attempts: components["schemas"]["DeliveryAttempt"][];
            /**
             * Format: date-time
             * @description When the next attempt is made; null if none follows.
             */
            next_attempt_at: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
        };
        /**
         * DeliveredEventType
         * @description The type of its event; `webhook.test` for a test.
         * @enum {string}
         */
        DeliveredEventType: "turn.completed" | "turn.cancelled" | "turn.failed" | "agent.requires_action" | "agent.file" | "webhook.test";
        /**
         * DeliveryState
         * @description `pending`: another attempt follows. `delivered`: the receiver answered with 2xx. `failed`: given up.
         * @enum {string}
         */
        DeliveryState: "pending" | "delivered" | "failed";
        /**
         * DeliveryAttempt
         * @description An attempt to send a delivery.
         */
        DeliveryAttempt: {
            /**
             * Format: date-time
             * @description When it began.
             */
            at: string;
            /**
             * Format: int32
             * @description HTTP status; null without a response.
             */
            status: number | null;
            /** @description Why it failed; null for a success. */
            error: string | null;
            /**
             * Format: int64
             * @description How long it took, in milliseconds.
             */
            duration_ms: number;
        };
        /**
         * RetriedDeliveries
         * @description How many deliveries are sent again.
         * @example {
         *       "count": 17
         *     }
         */
        RetriedDeliveries: {
            /**
             * Format: int64
             * @description Number of deliveries; at most 10,000.
             */
            count: number;
        };
        /**
         * Schedule
         * @description A message that is sent at given times.
         * @example {
         *       "id": "sched_01kag8t2q3w4e5r6t7y8u9i0o1",
         *       "name": "Daily report",
         *       "cron": "0 8 * * MON-FRI",
         *       "at": null,
         *       "timezone": "Europe/Berlin",
         *       "target": {
         *         "type": "new_session",
         *         "session": {
         *           "model_id": "claude-sonnet-5-5"
         *         }
         *       },
         *       "message": {
         *         "content": "Which orders are late?"
         *       },
         *       "overlap": "skip",
         *       "end_at": null,
         *       "state": "active",
         *       "paused_reason": null,
         *       "next_runs_at": [
         *         "2026-11-24T07:00:00.000000Z",
         *         "2026-11-25T07:00:00.000000Z"
         *       ],
         *       "last_run": {
         *         "scheduled_at": "2026-11-23T07:00:00.000000Z",
         *         "started_at": "2026-11-23T07:00:00.123456Z",
         *         "state": "started",
         *         "session_id": "ses_01kafyw0a1b2c3d4e5f6g7h8j9",
         *         "turn_id": "turn_01kafyw0k1m2n3p4q5r6s7t8v9",
         *         "reason": null
         *       },
         *       "created_at": "2026-11-20T10:00:00.000001Z",
         *       "updated_at": "2026-11-20T10:00:00.000001Z"
         *     }
         */
        Schedule: {
            /** @description Id of the schedule. */
            id: string;
            /** @description Its name for people. */
            name: string | null;
            /** @description Its times as a cron expression; null if it has `at`. */
            cron: string | null;
            /**
             * Format: date-time
             * @description Its single time; null if it has `cron`.
             */
            at: string | null;
            /** @description IANA time zone of `cron`. */
            timezone: string;
            /** @description The session that gets the message. */
            target: components["schemas"]["ScheduleTarget"];
            /** @description What is sent: the body of POST messages. */
            message: components["schemas"]["ScheduleMessage"];
            /** @description What to do if the session has an open turn. `skip`: nothing. `queue`: the message waits. */
            overlap: components["schemas"]["ScheduleOverlap"];
            /**
             * Format: date-time
             * @description The last time, inclusive; null without an end.
             */
            end_at: string | null;
            /** @description `active`: it has a next time. `paused`: until it is resumed. `ended`: it has no further times. */
            state: components["schemas"]["ScheduleState"];
            /** @description Why the service paused it; null if it is not paused, or a client paused it. */
            paused_reason: components["schemas"]["PausedReason"] | null;
            /** @description The next five, or as many as there are. */
            next_runs_at: string[];
            /** @description The newest run; null without one. */
            last_run: components["schemas"]["ScheduleRun"] | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updated_at: string;
        };
        /**
         * ScheduleTarget
         * @description The session that gets the message.
         */
        ScheduleTarget: components["schemas"]["NewSessionTarget"] | components["schemas"]["ExistingSessionTarget"];
        /**
         * NewSessionTarget
         * @description A new session for each run.
         */
        NewSessionTarget: {
            /**
             * @description Always `new_session`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "new_session";
            /** @description The configuration of a session. Only metadata and budget can be changed later. */
            session: components["schemas"]["ScheduledSession"];
        };
        /**
         * ScheduledSession
         * @description The configuration of a session. Only metadata and budget can be changed later.
         * @example {
         *       "model_id": "claude-sonnet-5-5",
         *       "instruction": "Answer in one sentence.",
         *       "metadata": {
         *         "customer": "4711"
         *       }
         *     }
         */
        ScheduledSession: {
            /** @description An id of GET /v1/models. */
            model_id: string;
            /**
             * @description Whether the model thinks before it answers, if it supports that.
             * @default true
             */
            thinking_enabled?: boolean;
            /**
             * @description What the agent is for and how it should work. It is added to the service’s own system prompt.
             * @default null
             */
            instruction?: string | null;
            /**
             * @description Ids of the MCP servers whose tools the agent can call.
             * @default []
             */
            mcp_servers?: string[];
            /**
             * @description Your own pairs of texts. The list of sessions can be filtered by them, and usage grouped. Usage keeps a copy of them for 90 days (USAGE_METADATA_DAYS), also of a deleted session: leave personal data out.
             * @default {}
             */
            metadata?: {
                [key: string]: string;
            };
            /**
             * @description Permissions of MCP servers’ tools, and custom tools.
             * @default []
             */
            tools?: components["schemas"]["SessionTool"][];
            /**
             * @description The models that a turn goes on with when its model fails, in order.
             * @default []
             */
            fallback_model_ids?: string[];
            /** @description What the model calls of the session may cost; null: as much as they need. */
            budget?: components["schemas"]["Budget"] | null;
        };
        /**
         * ExistingSessionTarget
         * @description The same session each time.
         */
        ExistingSessionTarget: {
            /**
             * @description Always `existing_session`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "existing_session";
            /** @description Id of the session. */
            session_id: string;
        };
        /**
         * ScheduleMessage
         * @description A message to the agent.
         */
        ScheduleMessage: {
            /** @description The text of the message. */
            content: string;
            /**
             * @description Ids of files to attach.
             * @default []
             */
            files?: string[];
            /**
             * @description Skills that the agent should use in this turn.
             * @default []
             */
            skills?: components["schemas"]["SkillSelection"][];
            /** @description The model of this turn, if it differs from the session’s: an id of GET /v1/models. */
            model_id?: string;
            /** @description Thinking in this turn, if it differs from the session’s. */
            thinking_enabled?: boolean;
        };
        /**
         * SkillSelection
         * @description A skill: its id, alone or in an object.
         */
        SkillSelection: components["schemas"]["SkillId"] | components["schemas"]["SkillById"] | components["schemas"]["SkillBySkillId"];
        /**
         * SkillId
         * @description Id of a skill.
         */
        SkillId: string;
        /**
         * SkillById
         * @description A skill.
         */
        SkillById: {
            /** @description Id of the skill. */
            id: string;
        };
        /**
         * SkillBySkillId
         * @description A skill.
         */
        SkillBySkillId: {
            /** @description Id of the skill. */
            skill_id: string;
        };
        /**
         * ScheduleOverlap
         * @description What to do if the session has an open turn. `skip`: nothing. `queue`: the message waits.
         * @enum {string}
         */
        ScheduleOverlap: "skip" | "queue";
        /**
         * ScheduleState
         * @description `active`: it has a next time. `paused`: until it is resumed. `ended`: it has no further times.
         * @enum {string}
         */
        ScheduleState: "active" | "paused" | "ended";
        /**
         * PausedReason
         * @description `session_deleted`: its session is gone. `failures`: too many of its turns failed, one after the other.
         * @enum {string}
         */
        PausedReason: "session_deleted" | "failures";
        /**
         * ScheduleRun
         * @description What happened at a time of a schedule.
         * @example {
         *       "scheduled_at": "2026-11-23T07:00:00.000000Z",
         *       "started_at": "2026-11-23T07:00:00.123456Z",
         *       "state": "started",
         *       "session_id": "ses_01kafyw0a1b2c3d4e5f6g7h8j9",
         *       "turn_id": "turn_01kafyw0k1m2n3p4q5r6s7t8v9",
         *       "reason": null
         *     }
         */
        ScheduleRun: {
            /**
             * Format: date-time
             * @description The time of the schedule.
             */
            scheduled_at: string;
            /**
             * Format: date-time
             * @description Null until its turn starts, and for a skipped run.
             */
            started_at: string | null;
            /** @description `started`: the message was sent, or waits. `skipped`: it was not; see `reason`. */
            state: components["schemas"]["ScheduleRunState"];
            /** @description Id of the session that got the message; null for a skipped run. */
            session_id: string | null;
            /** @description Id of the turn of the message; null for a skipped run. */
            turn_id: string | null;
            /** @description Why it was skipped; null otherwise. */
            reason: components["schemas"]["SkipReason"] | null;
        };
        /**
         * ScheduleRunState
         * @description `started`: the message was sent, or waits. `skipped`: it was not; see `reason`.
         * @enum {string}
         */
        ScheduleRunState: "started" | "skipped";
        /**
         * SkipReason
         * @description `missed`: the service was away. `session_running`: the session had an open turn. `too_many_running_turns`: the project was at its limit. `queue_full`: too many messages of the session waited. `not_found`: something that the schedule names is gone.
         * @enum {string}
         */
        SkipReason: "missed" | "session_running" | "too_many_running_turns" | "queue_full" | "not_found";
        /**
         * WebhookPayload
         * @description The body of a request to a webhook. It names the event: read the content from the API.
         * @example {
         *       "type": "turn.completed",
         *       "timestamp": "2026-11-21T09:48:09.654321Z",
         *       "data": {
         *         "session_id": "ses_01kag8y7m3w9s1p4x2c5v6b7n8",
         *         "turn_id": "turn_01kag8z0d4k7q2r9t5y8h3j6m1",
         *         "event_id": "evt_01kag8z5k2j3h4g5f6d7s8a9p0",
         *         "metadata": {
         *           "customer": "4711"
         *         }
         *       }
         *     }
         */
        WebhookPayload: components["schemas"]["WebhookEventPayload"] | components["schemas"]["WebhookTestPayload"];
        /**
         * WebhookEventPayload
         * @description An event of a session has happened.
         */
        WebhookEventPayload: {
            /**
             * @description A type of events that a webhook can be told about. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "turn.completed" | "turn.cancelled" | "turn.failed" | "agent.requires_action" | "agent.file";
            /**
             * Format: date-time
             * @description When the event happened.
             */
            timestamp: string;
            /** @description Which event it is. */
            data: components["schemas"]["WebhookEventData"];
        };
        /**
         * WebhookEventData
         * @description Which event it is.
         */
        WebhookEventData: {
            /** @description Id of the session. */
            session_id: string;
            /** @description Id of the turn. */
            turn_id: string;
            /** @description Id of the event. */
            event_id: string;
            /** @description Metadata of the session at the time of the event; empty in `webhook.test`. */
            metadata: {
                [key: string]: string;
            };
        };
        /**
         * WebhookTestPayload
         * @description A test that a client asked for.
         */
        WebhookTestPayload: {
            /**
             * @description Always `webhook.test`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "webhook.test";
            /**
             * Format: date-time
             * @description When the event happened.
             */
            timestamp: string;
            /** @description Empty: a test belongs to no event. */
            data: components["schemas"]["WebhookTestData"];
        };
        /**
         * WebhookTestData
         * @description Empty: a test belongs to no event.
         */
        WebhookTestData: {
            /** @description Null: a test belongs to no event. */
            session_id: null;
            /** @description Null: a test belongs to no event. */
            turn_id: null;
            /** @description Null: a test belongs to no event. */
            event_id: null;
            /** @description Metadata of the session at the time of the event; empty in `webhook.test`. */
            metadata: {
                [key: string]: string;
            };
        };
        /**
         * Turn
         * @description A run of the agent: it begins with a message, or continues another turn.
         * @example {
         *       "id": "turn_01kag8z0d4k7q2r9t5y8h3j6m1",
         *       "session_id": "ses_01kag8y7m3w9s1p4x2c5v6b7n8",
         *       "status": "completed",
         *       "model_id": "claude-sonnet-5-5",
         *       "created_at": "2026-11-21T09:48:04.000111Z",
         *       "started_at": "2026-11-21T09:48:04.051234Z",
         *       "ended_at": "2026-11-21T09:48:09.654321Z",
         *       "stop_reason": "end_turn",
         *       "error": null,
         *       "usage": {
         *         "input_tokens": 1489,
         *         "output_tokens": 94
         *       },
         *       "usage_details": {
         *         "cache_read_input_tokens": 0,
         *         "cache_creation_input_tokens": 0,
         *         "model_calls": 2,
         *         "cost": {
         *           "amount": "0.005877",
         *           "currency": "USD"
         *         }
         *       },
         *       "timing": {
         *         "queued_ms": 51,
         *         "connect_ms": null,
         *         "first_token_ms": 812,
         *         "model_ms": 4980,
         *         "tools_ms": 310,
         *         "waiting_ms": null,
         *         "total_ms": 5654
         *       },
         *       "message": "Two orders are late: 4711 and 4712.",
         *       "continues_turn_id": null
         *     }
         */
        Turn: {
            /** @description Id of the turn. */
            id: string;
            /** @description Id of its session. */
            session_id: string;
            /** @description `queued`, `running`, or `waiting` for answers (see required_actions of the session); then how it ended. */
            status: components["schemas"]["TurnStatus"];
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
             * @description The time of its terminal event; null until then.
             */
            ended_at: string | null;
            /** @description Why it completed; null otherwise. */
            stop_reason: components["schemas"]["StopReason"] | null;
            /** @description Why it failed; null otherwise. */
            error: components["schemas"]["TurnError"] | null;
            /** @description As in the terminal event; null until then. */
            usage: components["schemas"]["Usage"] | null;
            /** @description As in the terminal event; null until then. */
            usage_details: components["schemas"]["UsageDetails"] | null;
            /** @description As in the terminal event; null until then. */
            timing: components["schemas"]["TurnTiming"] | null;
            /** @description The content of its last `agent.message`; null without one. */
            message: string | null;
            /** @description Id of the turn that it continues; null if it continues none. */
            continues_turn_id: string | null;
        };
        /**
         * TurnStatus
         * @description `queued`, `running`, or `waiting` for answers (see required_actions of the session); then how it ended.
         * @enum {string}
         */
        TurnStatus: "queued" | "running" | "waiting" | "completed" | "cancelled" | "failed";
        /**
         * StopReason
         * @description Why a turn completed. `end_turn`: the agent was done. `max_steps`: the turn reached its limit of model calls. `max_output_tokens`: the last answer was cut off. `refusal`: the model refused. `budget_reached`: the session’s budget does not allow another call.
         * @enum {string}
         */
        StopReason: "end_turn" | "max_steps" | "max_output_tokens" | "refusal" | "budget_reached";
        /**
         * TurnError
         * @description Why a turn failed.
         */
        TurnError: {
            /** @description The kind of failure. `model_…` and `context_too_long`: the model’s server. `turn_timeout`: the turn took too long. `terminated`: an operator ended it. `internal_error`: a fault of this service. */
            type: components["schemas"]["TurnErrorType"];
            /** @description An explanation for people. It may change. */
            message: string;
            /** @description True if the same message may succeed later. */
            retryable: boolean;
        };
        /**
         * TurnErrorType
         * @description The kind of failure. `model_…` and `context_too_long`: the model’s server. `turn_timeout`: the turn took too long. `terminated`: an operator ended it. `internal_error`: a fault of this service.
         * @enum {string}
         */
        TurnErrorType: "model_error" | "model_overloaded" | "model_rate_limited" | "context_too_long" | "turn_timeout" | "terminated" | "internal_error";
        /**
         * Usage
         * @description The tokens of a turn’s model calls.
         */
        Usage: {
            /**
             * Format: int64
             * @description All input tokens, cache reads and writes included.
             */
            input_tokens: number;
            /**
             * Format: int64
             * @description All output tokens, thinking included.
             */
            output_tokens: number;
        };
        /**
         * UsageDetails
         * @description What the model calls of a turn took, in detail.
         */
        UsageDetails: {
            /**
             * Format: int64
             * @description Input tokens that the model’s server read from its cache.
             */
            cache_read_input_tokens: number;
            /**
             * Format: int64
             * @description Input tokens that the model’s server wrote to its cache.
             */
            cache_creation_input_tokens: number;
            /**
             * Format: int64
             * @description Number of model calls.
             */
            model_calls: number;
            /** @description What the model calls cost; null if one of their models has no price. */
            cost: components["schemas"]["Money"] | null;
            /**
             * @description Present if the server of a model did not report all usage, as for an answer that was cut off: the missing tokens are estimated, and cost as if they were reported.
             * @constant
             */
            estimated?: true;
        };
        /**
         * TurnTiming
         * @description How long the phases of a turn took, in milliseconds; null for a phase that never happened.
         */
        TurnTiming: {
            /**
             * Format: int64
             * @description From the message until a worker began the turn.
             */
            queued_ms: number | null;
            /**
             * Format: int64
             * @description Connecting to the session’s MCP servers.
             */
            connect_ms: number | null;
            /**
             * Format: int64
             * @description From the message until the model’s first output.
             */
            first_token_ms: number | null;
            /**
             * Format: int64
             * @description All model calls together.
             */
            model_ms: number | null;
            /**
             * Format: int64
             * @description All tool calls together.
             */
            tools_ms: number | null;
            /**
             * Format: int64
             * @description Waiting for answers.
             */
            waiting_ms: number | null;
            /**
             * Format: int64
             * @description From the message to the end of the turn.
             */
            total_ms: number;
        };
        /**
         * Event
         * @description A stored event of a turn. New types may appear: ignore those that you do not know.
         * @example {
         *       "id": "evt_01kag8z3c5v6b7n8m9k0j1h2g3",
         *       "type": "agent.message",
         *       "turn_id": "turn_01kag8z0d4k7q2r9t5y8h3j6m1",
         *       "created_at": "2026-11-21T09:48:08.112233Z",
         *       "message_id": "msg_01kag8z1q2w3e4r5t6y7u8i9p0",
         *       "content": "Two orders are late: 4711 and 4712."
         *     }
         */
        Event: components["schemas"]["UserMessageEvent"] | components["schemas"]["TurnContinuedEvent"] | components["schemas"]["AgentThinkingEvent"] | components["schemas"]["AgentMessageEvent"] | components["schemas"]["UserToolConfirmationEvent"] | components["schemas"]["UserCustomToolResultEvent"] | components["schemas"]["UserElicitationResultEvent"] | components["schemas"]["AgentToolUseEvent"] | components["schemas"]["AgentCustomToolUseEvent"] | components["schemas"]["AgentRequiresActionEvent"] | components["schemas"]["AgentToolProgressEvent"] | components["schemas"]["AgentToolResultEvent"] | components["schemas"]["AgentFileEvent"] | components["schemas"]["AgentMcpErrorEvent"] | components["schemas"]["AgentContextCompactedEvent"] | components["schemas"]["AgentModelChangedEvent"] | components["schemas"]["TurnCompletedEvent"] | components["schemas"]["TurnCancelledEvent"] | components["schemas"]["TurnFailedEvent"];
        /**
         * UserMessageEvent
         * @description A message to the agent. It begins a turn, or reaches the open one.
         */
        UserMessageEvent: {
            /** @description Id of the event. */
            id: string;
            /**
             * @description Always `user.message`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "user.message";
            /** @description Id of its turn. */
            turn_id: string;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            created_at: string;
            /** @description The text of the message. */
            content: string;
            /** @description The attached files. */
            files: components["schemas"]["FileSnapshot"][];
            /** @description The skills that the message selects. */
            skills: components["schemas"]["SkillSnapshot"][];
            /** @description Only in a message that a schedule sent. */
            schedule_id?: string;
            /** @description The model of this message’s turn, if the message names one. */
            model_id?: string;
            /** @description Thinking in this message’s turn, if the message sets it. */
            thinking_enabled?: boolean;
            /**
             * Format: int64
             * @description Number of the model call in the open turn that first got the message.
             */
            delivered_at_step?: number;
        };
        /**
         * FileSnapshot
         * @description A file as it was when the event was stored. It stays as it is when the file is deleted later.
         */
        FileSnapshot: {
            /** @description Id of the file. */
            id: string;
            /** @description Its name with the extension. */
            filename: string;
            /** @description Its media type, found from the extension of its name. */
            mime_type: string;
            /**
             * Format: int64
             * @description Its size in bytes.
             */
            size_bytes: number;
        };
        /**
         * SkillSnapshot
         * @description A skill as it was when the message was sent.
         */
        SkillSnapshot: {
            /** @description Id of the skill. */
            id: string;
            /** @description Its name. */
            name: string;
            /** @description When the agent should use it, as its package says. */
            description: string;
        };
        /**
         * TurnContinuedEvent
         * @description The first event of a turn that continues another one.
         */
        TurnContinuedEvent: {
            /** @description Id of the event. */
            id: string;
            /**
             * @description Always `turn.continued`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "turn.continued";
            /** @description Id of its turn. */
            turn_id: string;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            created_at: string;
            /** @description Id of the turn that this one continues. */
            continues_turn_id: string;
        };
        /**
         * AgentThinkingEvent
         * @description The model’s thinking in one model call, if the session has it on.
         */
        AgentThinkingEvent: {
            /** @description Id of the event. */
            id: string;
            /**
             * @description Always `agent.thinking`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "agent.thinking";
            /** @description Id of its turn. */
            turn_id: string;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            created_at: string;
            /** @description Id of the message: the same in the deltas of the stream. */
            message_id: string;
            /** @description The model’s thinking. */
            content: string;
        };
        /**
         * AgentMessageEvent
         * @description A whole message of the agent.
         */
        AgentMessageEvent: {
            /** @description Id of the event. */
            id: string;
            /**
             * @description Always `agent.message`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "agent.message";
            /** @description Id of its turn. */
            turn_id: string;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            created_at: string;
            /** @description Id of the message: the same in the deltas of the stream. */
            message_id: string;
            /** @description The text of the message. */
            content: string;
            /**
             * @description Present if the model’s answer was cut off.
             * @constant
             */
            incomplete?: true;
        };
        /**
         * UserToolConfirmationEvent
         * @description A person allowed or denied a call.
         */
        UserToolConfirmationEvent: {
            /** @description Id of the event. */
            id: string;
            /**
             * @description Always `user.tool_confirmation`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "user.tool_confirmation";
            /** @description Id of its turn. */
            turn_id: string;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            created_at: string;
            /** @description Id of the call: the same in its result, its answers and its progress. */
            tool_use_id: string;
            /** @description `allow`: the call runs. `deny`: it does not, and the agent goes on without it. */
            result: components["schemas"]["ConfirmationResult"];
            /** @description The message for the agent; null without one. */
            deny_message: string | null;
            /** @description Who decided, as the answer says; null without one. */
            actor: string | null;
        };
        /**
         * ConfirmationResult
         * @description `allow`: the call runs. `deny`: it does not, and the agent goes on without it.
         * @enum {string}
         */
        ConfirmationResult: "allow" | "deny";
        /**
         * UserCustomToolResultEvent
         * @description Your client’s result of a custom tool’s call.
         */
        UserCustomToolResultEvent: {
            /** @description Id of the event. */
            id: string;
            /**
             * @description Always `user.custom_tool_result`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "user.custom_tool_result";
            /** @description Id of its turn. */
            turn_id: string;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            created_at: string;
            /** @description Id of the call: the same in its result, its answers and its progress. */
            tool_use_id: string;
            /** @description The result, as the model gets it. */
            content: string;
            /** @description True if the tool failed. */
            is_error: boolean;
            /** @description Who decided, as the answer says; null without one. */
            actor: string | null;
        };
        /**
         * UserElicitationResultEvent
         * @description The answer to a question of an MCP server.
         */
        UserElicitationResultEvent: {
            /** @description Id of the event. */
            id: string;
            /**
             * @description Always `user.elicitation_result`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "user.elicitation_result";
            /** @description Id of its turn. */
            turn_id: string;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            created_at: string;
            /** @description Id of the question. */
            elicitation_id: string;
            /** @description `accept`: the person answered the form, or opened the address. `decline`: the person refused. `cancel`: the person made no choice. */
            action: components["schemas"]["ElicitationAnswer"];
            /** @description The values of the form; null without them. */
            content: components["schemas"]["ElicitationContent"] | null;
            /** @description Who decided, as the answer says; null without one. */
            actor: string | null;
        };
        /**
         * ElicitationAnswer
         * @description `accept`: the person answered the form, or opened the address. `decline`: the person refused. `cancel`: the person made no choice.
         * @enum {string}
         */
        ElicitationAnswer: "accept" | "decline" | "cancel";
        /**
         * ElicitationContent
         * @description The values of a form, by their names in its schema.
         */
        ElicitationContent: {
            [key: string]: unknown;
        };
        /**
         * AgentToolUseEvent
         * @description The agent calls a tool.
         */
        AgentToolUseEvent: {
            /** @description Id of the event. */
            id: string;
            /**
             * @description Always `agent.tool_use`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "agent.tool_use";
            /** @description Id of its turn. */
            turn_id: string;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            created_at: string;
            /** @description Id of the call: the same in its result, its answers and its progress. */
            tool_use_id: string;
            /** @description The name of the tool, as the model sees it. */
            name: string;
            /** @description The input of the call, as the model wrote it. */
            input: {
                [key: string]: unknown;
            };
            /** @description `ask`: a person must allow the call. Only in sessions that have `tools`. */
            evaluated_permission?: components["schemas"]["EvaluatedPermission"];
        };
        /**
         * EvaluatedPermission
         * @description `ask`: a person must allow the call. Only in sessions that have `tools`.
         * @enum {string}
         */
        EvaluatedPermission: "allow" | "ask";
        /**
         * AgentCustomToolUseEvent
         * @description The agent calls a custom tool, which your client runs.
         */
        AgentCustomToolUseEvent: {
            /** @description Id of the event. */
            id: string;
            /**
             * @description Always `agent.custom_tool_use`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "agent.custom_tool_use";
            /** @description Id of its turn. */
            turn_id: string;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            created_at: string;
            /** @description Id of the call: the same in its result, its answers and its progress. */
            tool_use_id: string;
            /** @description The name of the tool, as the model sees it. */
            name: string;
            /** @description The input of the call, as the model wrote it. */
            input: {
                [key: string]: unknown;
            };
        };
        /**
         * AgentRequiresActionEvent
         * @description The turn waits for answers.
         */
        AgentRequiresActionEvent: {
            /** @description Id of the event. */
            id: string;
            /**
             * @description Always `agent.requires_action`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "agent.requires_action";
            /** @description Id of its turn. */
            turn_id: string;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            created_at: string;
            /** @description Everything that the turn waits for now. */
            required_actions: components["schemas"]["RequiredAction"][];
        };
        /**
         * AgentToolProgressEvent
         * @description The progress of a call that is a long task.
         */
        AgentToolProgressEvent: {
            /** @description Id of the event. */
            id: string;
            /**
             * @description Always `agent.tool_progress`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "agent.tool_progress";
            /** @description Id of its turn. */
            turn_id: string;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            created_at: string;
            /** @description Id of the call: the same in its result, its answers and its progress. */
            tool_use_id: string;
            /** @description The name of the tool, as the model sees it. */
            name: string;
            /** @description The state of the task, as the MCP server reports it. */
            status: components["schemas"]["ToolProgressStatus"];
            /** @description What the MCP server says about it; null without a message. */
            message: string | null;
        };
        /**
         * ToolProgressStatus
         * @description The state of the task, as the MCP server reports it.
         * @enum {string}
         */
        ToolProgressStatus: "working" | "input_required";
        /**
         * AgentToolResultEvent
         * @description The result of a call.
         */
        AgentToolResultEvent: {
            /** @description Id of the event. */
            id: string;
            /**
             * @description Always `agent.tool_result`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "agent.tool_result";
            /** @description Id of its turn. */
            turn_id: string;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            created_at: string;
            /** @description Id of the call: the same in its result, its answers and its progress. */
            tool_use_id: string;
            /** @description The name of the tool, as the model sees it. */
            name: string;
            /** @description True if the call failed, was denied, or was not made. */
            is_error: boolean;
            /** @description The result, as the model gets it. */
            content: string;
            /**
             * @description Present if the result was too long and is cut.
             * @constant
             */
            truncated?: true;
        };
        /**
         * AgentFileEvent
         * @description The agent delivered a file.
         */
        AgentFileEvent: {
            /** @description Id of the event. */
            id: string;
            /**
             * @description Always `agent.file`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "agent.file";
            /** @description Id of its turn. */
            turn_id: string;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            created_at: string;
            /** @description The delivered file. Download it with its id. */
            file: components["schemas"]["FileSnapshot"];
        };
        /**
         * AgentMcpErrorEvent
         * @description An MCP server could not be used in this turn.
         */
        AgentMcpErrorEvent: {
            /** @description Id of the event. */
            id: string;
            /**
             * @description Always `agent.mcp_error`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "agent.mcp_error";
            /** @description Id of its turn. */
            turn_id: string;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            created_at: string;
            /** @description Id of the MCP server. */
            mcp_server_id: string;
            /** @description Name of the MCP server. */
            name: string;
            /** @description What went wrong. */
            message: string;
        };
        /**
         * AgentContextCompactedEvent
         * @description Older turns were summarised to fit the model’s context.
         */
        AgentContextCompactedEvent: {
            /** @description Id of the event. */
            id: string;
            /**
             * @description Always `agent.context_compacted`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "agent.context_compacted";
            /** @description Id of its turn. */
            turn_id: string;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            created_at: string;
            /**
             * Format: int64
             * @description Number of turns that the summary replaces.
             */
            compacted_turns: number;
        };
        /**
         * AgentModelChangedEvent
         * @description The turn goes on with a fallback model.
         */
        AgentModelChangedEvent: {
            /** @description Id of the event. */
            id: string;
            /**
             * @description Always `agent.model_changed`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "agent.model_changed";
            /** @description Id of its turn. */
            turn_id: string;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            created_at: string;
            /** @description Id of the model that failed. */
            from: string;
            /** @description Id of the model that the turn goes on with. */
            to: string;
            /** @description Why the first model failed. */
            reason: components["schemas"]["FallbackReason"];
        };
        /**
         * FallbackReason
         * @description Why the first model failed.
         * @enum {string}
         */
        FallbackReason: "model_error" | "model_overloaded" | "model_rate_limited";
        /**
         * TurnCompletedEvent
         * @description The last event of a turn that completed.
         */
        TurnCompletedEvent: {
            /** @description Id of the event. */
            id: string;
            /**
             * @description Always `turn.completed`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "turn.completed";
            /** @description Id of its turn. */
            turn_id: string;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            created_at: string;
            /** @description Why a turn completed. `end_turn`: the agent was done. `max_steps`: the turn reached its limit of model calls. `max_output_tokens`: the last answer was cut off. `refusal`: the model refused. `budget_reached`: the session’s budget does not allow another call. */
            stop_reason: components["schemas"]["StopReason"];
            /** @description The tokens of the turn; null if the turn never ran. */
            usage: components["schemas"]["Usage"] | null;
            /** @description Cache, calls and cost; null if the turn never ran. */
            usage_details: components["schemas"]["UsageDetails"] | null;
            /** @description How long the phases of a turn took, in milliseconds; null for a phase that never happened. */
            timing: components["schemas"]["TurnTiming"];
        };
        /**
         * TurnCancelledEvent
         * @description The last event of a turn that was cancelled.
         */
        TurnCancelledEvent: {
            /** @description Id of the event. */
            id: string;
            /**
             * @description Always `turn.cancelled`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "turn.cancelled";
            /** @description Id of its turn. */
            turn_id: string;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            created_at: string;
            /** @description The tokens of the turn; null if the turn never ran. */
            usage: components["schemas"]["Usage"] | null;
            /** @description Cache, calls and cost; null if the turn never ran. */
            usage_details: components["schemas"]["UsageDetails"] | null;
            /** @description How long the phases of a turn took, in milliseconds; null for a phase that never happened. */
            timing: components["schemas"]["TurnTiming"];
        };
        /**
         * TurnFailedEvent
         * @description The last event of a turn that failed.
         */
        TurnFailedEvent: {
            /** @description Id of the event. */
            id: string;
            /**
             * @description Always `turn.failed`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "turn.failed";
            /** @description Id of its turn. */
            turn_id: string;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            created_at: string;
            /** @description Why a turn failed. */
            error: components["schemas"]["TurnError"];
            /** @description The tokens of the turn; null if the turn never ran. */
            usage: components["schemas"]["Usage"] | null;
            /** @description Cache, calls and cost; null if the turn never ran. */
            usage_details: components["schemas"]["UsageDetails"] | null;
            /** @description How long the phases of a turn took, in milliseconds; null for a phase that never happened. */
            timing: components["schemas"]["TurnTiming"];
        };
        /**
         * SentMessage
         * @description The `user.message` event of the message that was sent.
         * @example {
         *       "id": "evt_01kag8z0d7k8q3r0t6y9h4j7m2",
         *       "type": "user.message",
         *       "turn_id": "turn_01kag8z0d4k7q2r9t5y8h3j6m1",
         *       "created_at": "2026-11-21T09:48:04.000111Z",
         *       "content": "Which orders are late?",
         *       "files": [],
         *       "skills": []
         *     }
         */
        SentMessage: {
            /** @description Id of the event. */
            id: string;
            /**
             * @description Always `user.message`.
             * @constant
             */
            type: "user.message";
            /** @description Id of its turn. */
            turn_id: string;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            created_at: string;
            /** @description The text of the message. */
            content: string;
            /** @description The attached files. */
            files: components["schemas"]["FileSnapshot"][];
            /** @description The skills that the message selects. */
            skills: components["schemas"]["SkillSnapshot"][];
            /** @description Only in a message that a schedule sent. */
            schedule_id?: string;
            /** @description The model of this message’s turn, if the message names one. */
            model_id?: string;
            /** @description Thinking in this message’s turn, if the message sets it. */
            thinking_enabled?: boolean;
            /**
             * Format: int64
             * @description Number of the model call in the open turn that first got the message.
             */
            delivered_at_step?: number;
            /** @description Only while the message waits. */
            state?: components["schemas"]["WaitingState"];
        };
        /**
         * WaitingState
         * @description `queued`: starts its own turn after the open one. `steering`: the open turn’s next model call gets it.
         * @enum {string}
         */
        WaitingState: "queued" | "steering";
        /**
         * WaitingMessage
         * @description A message that waits while a turn is open.
         * @example {
         *       "id": "evt_01kag8z0d7k8q3r0t6y9h4j7m2",
         *       "type": "user.message",
         *       "turn_id": "turn_01kag8z0d4k7q2r9t5y8h3j6m1",
         *       "created_at": "2026-11-21T09:48:04.000111Z",
         *       "content": "Which orders are late?",
         *       "files": [],
         *       "skills": [],
         *       "state": "queued"
         *     }
         */
        WaitingMessage: {
            /** @description Id of the event. */
            id: string;
            /**
             * @description Always `user.message`.
             * @constant
             */
            type: "user.message";
            /** @description Id of its turn. */
            turn_id: string;
            /**
             * Format: date-time
             * @description When it was stored.
             */
            created_at: string;
            /** @description The text of the message. */
            content: string;
            /** @description The attached files. */
            files: components["schemas"]["FileSnapshot"][];
            /** @description The skills that the message selects. */
            skills: components["schemas"]["SkillSnapshot"][];
            /** @description Only in a message that a schedule sent. */
            schedule_id?: string;
            /** @description The model of this message’s turn, if the message names one. */
            model_id?: string;
            /** @description Thinking in this message’s turn, if the message sets it. */
            thinking_enabled?: boolean;
            /**
             * Format: int64
             * @description Number of the model call in the open turn that first got the message.
             */
            delivered_at_step?: number;
            /** @description `queued`: starts its own turn after the open one. `steering`: the open turn’s next model call gets it. */
            state: components["schemas"]["WaitingState"];
        };
        /**
         * AnswerEvent
         * @description A stored answer.
         */
        AnswerEvent: components["schemas"]["UserToolConfirmationEvent"] | components["schemas"]["UserCustomToolResultEvent"] | components["schemas"]["UserElicitationResultEvent"];
        /**
         * DeltaEvent
         * @description A fragment of text while the model writes it. The whole text follows as an event.
         */
        DeltaEvent: {
            /**
             * @description Whether the fragment is of a message or of thinking. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "agent.message.delta" | "agent.thinking.delta";
            /** @description Id of the turn. */
            turn_id: string;
            /** @description Id of the message: the same in the deltas of the stream. */
            message_id: string;
            /** @description The fragment. Append it to those of the same message before it. */
            content: string;
        };
        /**
         * DeltaType
         * @description Whether the fragment is of a message or of thinking.
         * @enum {string}
         */
        DeltaType: "agent.message.delta" | "agent.thinking.delta";
        /**
         * RetryEvent
         * @description A model call failed and is made again.
         */
        RetryEvent: {
            /**
             * @description Always `agent.retry.delta`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "agent.retry.delta";
            /** @description Id of the turn. */
            turn_id: string;
            /** @description Why a model call failed. */
            reason: components["schemas"]["ModelFailureType"];
            /**
             * Format: int64
             * @description Number of failures of the call so far.
             */
            attempt: number;
            /**
             * Format: date-time
             * @description When the call is made again.
             */
            retry_at: string;
        };
        /**
         * ModelFailureType
         * @description Why a model call failed.
         * @enum {string}
         */
        ModelFailureType: "model_error" | "model_overloaded" | "model_rate_limited" | "context_too_long";
        /**
         * StreamFrame
         * @description One frame of the stream, with the fields of Server-Sent Events.
         */
        StreamFrame: {
            /** @description Send it as `Last-Event-ID` to continue after this frame. */
            id: string;
            /** @description The `type` of the event in `data`. */
            event: components["schemas"]["StreamEventType"];
            /** @description The event as JSON: a `StreamEvent`. */
            data: string;
        };
        /**
         * StreamEventType
         * @description The `type` of the event in `data`.
         * @enum {string}
         */
        StreamEventType: "user.message" | "turn.continued" | "agent.thinking" | "agent.message" | "user.tool_confirmation" | "user.custom_tool_result" | "user.elicitation_result" | "agent.tool_use" | "agent.custom_tool_use" | "agent.requires_action" | "agent.tool_progress" | "agent.tool_result" | "agent.file" | "agent.mcp_error" | "agent.context_compacted" | "agent.model_changed" | "turn.completed" | "turn.cancelled" | "turn.failed" | "agent.message.delta" | "agent.thinking.delta" | "agent.retry.delta";
        /**
         * StreamEvent
         * @description What the data of a frame holds: a stored event or a delta.
         */
        StreamEvent: components["schemas"]["UserMessageEvent"] | components["schemas"]["TurnContinuedEvent"] | components["schemas"]["AgentThinkingEvent"] | components["schemas"]["AgentMessageEvent"] | components["schemas"]["UserToolConfirmationEvent"] | components["schemas"]["UserCustomToolResultEvent"] | components["schemas"]["UserElicitationResultEvent"] | components["schemas"]["AgentToolUseEvent"] | components["schemas"]["AgentCustomToolUseEvent"] | components["schemas"]["AgentRequiresActionEvent"] | components["schemas"]["AgentToolProgressEvent"] | components["schemas"]["AgentToolResultEvent"] | components["schemas"]["AgentFileEvent"] | components["schemas"]["AgentMcpErrorEvent"] | components["schemas"]["AgentContextCompactedEvent"] | components["schemas"]["AgentModelChangedEvent"] | components["schemas"]["TurnCompletedEvent"] | components["schemas"]["TurnCancelledEvent"] | components["schemas"]["TurnFailedEvent"] | components["schemas"]["DeltaEvent"] | components["schemas"]["RetryEvent"];
        /**
         * NewSession
         * @description The configuration of a session. Only metadata and budget can be changed later.
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
            /**
             * @description Whether the model thinks before it answers, if it supports that.
             * @default true
             */
            thinking_enabled?: boolean;
            /**
             * @description What the agent is for and how it should work. It is added to the service’s own system prompt.
             * @default null
             */
            instruction?: string | null;
            /**
             * @description Ids of the MCP servers whose tools the agent can call.
             * @default []
             */
            mcp_servers?: string[];
            /**
             * @description Your own pairs of texts. The list of sessions can be filtered by them, and usage grouped. Usage keeps a copy of them for 90 days (USAGE_METADATA_DAYS), also of a deleted session: leave personal data out.
             * @default {}
             */
            metadata?: {
                [key: string]: string;
            };
            /**
             * @description Permissions of MCP servers’ tools, and custom tools.
             * @default []
             */
            tools?: components["schemas"]["SessionToolInput"][];
            /**
             * @description The models that a turn goes on with when its model fails, in order.
             * @default []
             */
            fallback_model_ids?: string[];
            /**
             * @description What the model calls of the session may cost; null: as much as they need.
             * @default null
             */
            budget?: components["schemas"]["NewBudget"] | null;
        };
        /**
         * SessionToolInput
         * @description The permissions and questions of an MCP server’s tools, or a tool that your client runs.
         */
        SessionToolInput: components["schemas"]["McpToolsetInput"] | components["schemas"]["CustomToolInput"];
        /**
         * McpToolsetInput
         * @description How the tools of one of the session’s MCP servers may be used.
         */
        McpToolsetInput: {
            /**
             * @description Always `mcp_toolset`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "mcp_toolset";
            /** @description One of the session’s mcp_servers. */
            mcp_server_id: string;
            /** @description For the tools that `configs` does not name. */
            default_config?: components["schemas"]["McpDefaultConfigInput"];
            /** @description Single tools that differ from `default_config`. */
            configs?: components["schemas"]["McpToolConfigInput"][];
            /** @description The server may ask questions while a call runs; default false. */
            elicitation?: boolean;
        };
        /**
         * McpDefaultConfigInput
         * @description For the tools that `configs` does not name.
         */
        McpDefaultConfigInput: {
            /** @description Whether a person must allow the calls of a tool. */
            permission_policy: components["schemas"]["PermissionPolicyInput"];
        };
        /**
         * PermissionPolicyInput
         * @description Whether a person must allow the calls of a tool.
         */
        PermissionPolicyInput: {
            /** @description `always_allow`: the calls run. `always_ask`: each call waits until a person allows it. */
            type: components["schemas"]["PermissionPolicyType"];
        };
        /**
         * McpToolConfigInput
         * @description The permission of one tool.
         */
        McpToolConfigInput: {
            /** @description The server’s own name of the tool. */
            name: string;
            /** @description Whether a person must allow the calls of a tool. */
            permission_policy: components["schemas"]["PermissionPolicyInput"];
        };
        /**
         * CustomToolInput
         * @description A tool that your client runs: the turn waits for its result.
         */
        CustomToolInput: {
            /**
             * @description Always `custom`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "custom";
            /** @description Its name. Built-in names and names that begin with `mcp__` are taken. */
            name: string;
            /** @description What it does and when to use it, for the model. */
            description: string;
            /** @description JSON Schema 2020-12 of the tool’s input; at most 32 KiB as compact JSON. */
            input_schema: components["schemas"]["CustomToolInputSchema"];
        };
        /**
         * NewBudget
         * @description What the model calls of a session may cost, and what happens to a turn that reaches it.
         */
        NewBudget: {
            /** @description The most that all model calls of the session may cost. */
            max_cost: components["schemas"]["MaxCost"];
            /** @description `pause`: the turn waits until the budget changes. `stop`: it ends with stop_reason `budget_reached`. */
            on_reached: components["schemas"]["OnBudgetReached"];
        };
        /**
         * MaxCost
         * @description The most that all model calls of the session may cost.
         */
        MaxCost: {
            /** @description A decimal number above 0, with at most 9 digits before and 6 after the point. */
            amount: string;
            /** @description The currency of the catalogue’s prices. */
            currency: string;
        };
        /**
         * SessionChange
         * @description Changes of a session. Fields that are absent stay.
         * @example {
         *       "metadata": {
         *         "customer": "4712",
         *         "obsolete": null
         *       }
         *     }
         */
        SessionChange: {
            /** @description JSON Merge Patch (RFC 7396): a value sets its key, null deletes it, absent keys stay. Usage keeps a copy of them for 90 days (USAGE_METADATA_DAYS), also of a deleted session: leave personal data out. */
            metadata?: {
                [key: string]: string | null;
            };
            /** @description Replaces the whole budget; null removes it. */
            budget?: components["schemas"]["NewBudget"] | null;
        };
        /**
         * NewAnswers
         * @description Answers to a turn that waits.
         * @example {
         *       "events": [
         *         {
         *           "type": "user.tool_confirmation",
         *           "tool_use_id": "toolu_01A09q90qw90lq917835lq9",
         *           "result": "allow",
         *           "actor": "jane@example.com"
         *         }
         *       ]
         *     }
         */
        NewAnswers: {
            /** @description The answers: all of them are stored, or none. */
            events: components["schemas"]["Answer"][];
        };
        /**
         * Answer
         * @description The answer to something that `required_actions` lists.
         */
        Answer: components["schemas"]["ToolConfirmationAnswer"] | components["schemas"]["CustomToolResultAnswer"] | components["schemas"]["ElicitationResultAnswer"];
        /**
         * ToolConfirmationAnswer
         * @description Allows or denies a call.
         */
        ToolConfirmationAnswer: {
            /**
             * @description Always `user.tool_confirmation`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "user.tool_confirmation";
            /** @description A tool_use_id in required_actions. */
            tool_use_id: string;
            /** @description `allow`: the call runs. `deny`: it does not, and the agent goes on without it. */
            result: components["schemas"]["ConfirmationResult"];
            /** @description Only with deny: a message for the agent. */
            deny_message?: string | null;
            /** @description Who decided: any text, stored in the event. */
            actor?: string;
        };
        /**
         * CustomToolResultAnswer
         * @description Gives the result of a custom tool’s call.
         */
        CustomToolResultAnswer: {
            /**
             * @description Always `user.custom_tool_result`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "user.custom_tool_result";
            /** @description A tool_use_id in required_actions. */
            tool_use_id: string;
            /** @description The result, for the model. */
            content: string;
            /** @description True if the tool failed; `content` then says why. */
            is_error?: boolean;
            /** @description Who decided: any text, stored in the event. */
            actor?: string;
        };
        /**
         * ElicitationResultAnswer
         * @description Answers a question of an MCP server.
         */
        ElicitationResultAnswer: {
            /**
             * @description Always `user.elicitation_result`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "user.elicitation_result";
            /** @description An elicitation_id in required_actions. */
            elicitation_id: string;
            /** @description `accept`: the person answered the form, or opened the address. `decline`: the person refused. `cancel`: the person made no choice. */
            action: components["schemas"]["ElicitationAnswer"];
            /** @description Only with accept of a form: it has to fit requested_schema. */
            content?: components["schemas"]["ElicitationContent"] | null;
            /** @description Who decided: any text, stored in the event. */
            actor?: string;
        };
        /**
         * NewMessage
         * @description A message to the agent.
         * @example {
         *       "content": "Which orders are late?"
         *     }
         */
        NewMessage: {
            /** @description The text of the message. */
            content: string;
            /**
             * @description Ids of files to attach.
             * @default []
             */
            files?: string[];
            /**
             * @description Skills that the agent should use in this turn.
             * @default []
             */
            skills?: components["schemas"]["SkillSelectionInput"][];
            /** @description The model of this turn, if it differs from the session’s: an id of GET /v1/models. */
            model_id?: string;
            /** @description Thinking in this turn, if it differs from the session’s. */
            thinking_enabled?: boolean;
            /** @description What to do while a turn is open. reject: 409; queue: the message starts its own turn afterwards; steer: the open turn’s next model call gets it. */
            when_running?: components["schemas"]["WhenRunning"];
        };
        /**
         * SkillSelectionInput
         * @description A skill: its id, alone or in an object.
         */
        SkillSelectionInput: components["schemas"]["SkillId"] | components["schemas"]["SkillByIdInput"] | components["schemas"]["SkillBySkillIdInput"];
        /**
         * SkillByIdInput
         * @description A skill.
         */
        SkillByIdInput: {
            /** @description Id of the skill. */
            id: string;
        };
        /**
         * SkillBySkillIdInput
         * @description A skill.
         */
        SkillBySkillIdInput: {
            /** @description Id of the skill. */
            skill_id: string;
        };
        /**
         * WhenRunning
         * @description What to do while a turn is open. reject: 409; queue: the message starts its own turn afterwards; steer: the open turn’s next model call gets it.
         * @default reject
         * @enum {string}
         */
        WhenRunning: "reject" | "queue" | "steer";
        /**
         * NewMcpServer
         * @description An MCP server, and how to use it.
         * @example {
         *       "name": "orders",
         *       "url": "https://mcp.example.com/orders",
         *       "auth": {
         *         "type": "BEARER",
         *         "token": "secret"
         *       }
         *     }
         */
        NewMcpServer: {
            /** @description Its name, unique in the project. The names of its tools begin with it: `mcp__NAME__TOOL`. */
            name: string;
            /** @description Streamable HTTP endpoint: https, at a public address. An operator can allow others. */
            url: string;
            /** @description How the service proves to the MCP server who it is. Credentials are never shown again. */
            auth?: components["schemas"]["NewMcpAuth"];
            /**
             * @description Names of the server’s tools that the agent may call; null: all of them.
             * @default null
             */
            allowed_tools?: string[] | null;
            /**
             * @description If true, new and changed tools are held back until POST …/accept-tools accepts them.
             * @default false
             */
            pin_tools?: boolean;
        };
        /**
         * NewMcpAuth
         * @description How the service proves to the MCP server who it is. Credentials are never shown again.
         */
        NewMcpAuth: components["schemas"]["NoMcpAuth"] | components["schemas"]["BearerMcpAuth"] | components["schemas"]["HeaderMcpAuth"] | components["schemas"]["OAuthMcpAuth"];
        /**
         * NoMcpAuth
         * @description No credential.
         */
        NoMcpAuth: {
            /**
             * @description Always `NONE`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "NONE";
        };
        /**
         * BearerMcpAuth
         * @description A token.
         */
        BearerMcpAuth: {
            /**
             * @description Always `BEARER`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "BEARER";
            /** @description Sent as `Authorization: Bearer TOKEN`. */
            token: string;
        };
        /**
         * HeaderMcpAuth
         * @description A header of its own, such as `X-Api-Key`.
         */
        HeaderMcpAuth: {
            /**
             * @description Always `HEADER`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "HEADER";
            /** @description Name of the header. */
            name: string;
            /** @description Value of the header. */
            value: string;
        };
        /**
         * OAuthMcpAuth
         * @description A person authorizes the service in a browser.
         */
        OAuthMcpAuth: {
            /**
             * @description Always `OAUTH`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "OAUTH";
            /** @description A client registered at the authorization server; without it the service registers one. */
            client_id?: string;
            /** @description The secret of `client_id`, if it has one. */
            client_secret?: string;
            /** @description Scopes to request; without it, those in the metadata of the resource. */
            scopes?: string[];
        };
        /**
         * McpServerChange
         * @description Changes of an MCP server. Fields that are absent stay.
         * @example {
         *       "allowed_tools": [
         *         "late_orders"
         *       ]
         *     }
         */
        McpServerChange: {
            /** @description Its name, unique in the project. The names of its tools begin with it: `mcp__NAME__TOOL`. */
            name?: string;
            /** @description How the service proves to the MCP server who it is. Credentials are never shown again. */
            auth?: components["schemas"]["NewMcpAuth"];
            /** @description Names of the server’s tools that the agent may call; null: all of them. */
            allowed_tools?: string[] | null;
            /** @description If true, new and changed tools are held back until POST …/accept-tools accepts them. */
            pin_tools?: boolean;
        };
        /**
         * AcceptedMcpTools
         * @description Which tools to accept; empty: all changed tools.
         * @example {
         *       "digests": {
         *         "late_orders": "9f86d081884c7d65"
         *       }
         *     }
         */
        AcceptedMcpTools: {
            /** @description Tools to accept; without it, those in digests; without both, every changed tool. */
            names?: string[];
            /** @description Digests of the versions that you have read, by tool name. Another version is not accepted. */
            digests?: {
                [key: string]: string;
            };
        };
        /**
         * NewWebhook
         * @description An address, and what is sent to it.
         * @example {
         *       "url": "https://example.com/agent-events",
         *       "event_types": [
         *         "turn.completed",
         *         "turn.failed"
         *       ]
         *     }
         */
        NewWebhook: {
            /** @description Where deliveries are sent: https, at a public address. */
            url: string;
            /** @description The types of events that are sent. */
            event_types: components["schemas"]["WebhookEventType"][];
            /**
             * @description Your own note about the webhook.
             * @default null
             */
            description?: string | null;
            /**
             * @description A disabled webhook receives nothing; events of that time are not sent later.
             * @default true
             */
            enabled?: boolean;
        };
        /**
         * NewSchedule
         * @description A message, and when and where it is sent.
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
            /**
             * @description Its name for people.
             * @default null
             */
            name?: string | null;
            /** @description Five fields: minute, hour, day of month, month, day of week. If both kinds of day are given, either matches. */
            cron?: string;
            /**
             * Format: date-time
             * @description A single time in the future: a timestamp with an offset, stored to the second.
             */
            at?: string;
            /**
             * @description IANA time zone of `cron`.
             * @default UTC
             */
            timezone?: string;
            /** @description The session that gets the message. */
            target: components["schemas"]["ScheduleTargetInput"];
            /** @description What is sent: the body of POST messages. */
            message: components["schemas"]["ScheduleMessageInput"];
            /**
             * @description What to do if the session has an open turn. `skip`: nothing. `queue`: the message waits.
             * @default skip
             */
            overlap?: components["schemas"]["ScheduleOverlap"];
            /**
             * Format: date-time
             * @description The last time, inclusive: a timestamp with an offset, stored to the second.
             * @default null
             */
            end_at?: string | null;
        };
        /**
         * ScheduleTargetInput
         * @description The session that gets the message.
         */
        ScheduleTargetInput: components["schemas"]["NewSessionTargetInput"] | components["schemas"]["ExistingSessionTargetInput"];
        /**
         * NewSessionTargetInput
         * @description A new session for each run.
         */
        NewSessionTargetInput: {
            /**
             * @description Always `new_session`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "new_session";
            /** @description Its configuration: the body of POST sessions. */
            session: components["schemas"]["NewSession"];
        };
        /**
         * ExistingSessionTargetInput
         * @description The same session each time.
         */
        ExistingSessionTargetInput: {
            /**
             * @description Always `existing_session`. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            type: "existing_session";
            /** @description Id of the session. */
            session_id: string;
        };
        /**
         * ScheduleMessageInput
         * @description A message to the agent.
         */
        ScheduleMessageInput: {
            /** @description The text of the message. */
            content: string;
            /**
             * @description Ids of files to attach.
             * @default []
             */
            files?: string[];
            /**
             * @description Skills that the agent should use in this turn.
             * @default []
             */
            skills?: components["schemas"]["SkillSelectionInput"][];
            /** @description The model of this turn, if it differs from the session’s: an id of GET /v1/models. */
            model_id?: string;
            /** @description Thinking in this turn, if it differs from the session’s. */
            thinking_enabled?: boolean;
        };
        /**
         * ScheduleChange
         * @description Changes of a schedule. Fields that are absent stay.
         * @example {
         *       "cron": "30 7 * * MON-FRI"
         *     }
         */
        ScheduleChange: {
            /** @description Its name for people. */
            name?: string | null;
            /** @description Five fields: minute, hour, day of month, month, day of week. If both kinds of day are given, either matches. Replaces `at`. */
            cron?: string;
            /**
             * Format: date-time
             * @description A single time in the future: a timestamp with an offset, stored to the second. Replaces `cron`.
             */
            at?: string;
            /** @description IANA time zone of `cron`. */
            timezone?: string;
            /** @description What is sent: the body of POST messages. */
            message?: components["schemas"]["ScheduleMessageInput"];
            /** @description What to do if the session has an open turn. `skip`: nothing. `queue`: the message waits. */
            overlap?: components["schemas"]["ScheduleOverlap"];
            /**
             * Format: date-time
             * @description The last time, inclusive: a timestamp with an offset, stored to the second.
             */
            end_at?: string | null;
        };
        /**
         * WebhookChange
         * @description Changes of a webhook. Fields that are absent stay.
         * @example {
         *       "enabled": true
         *     }
         */
        WebhookChange: {
            /** @description Where deliveries are sent: https, at a public address. */
            url?: string;
            /** @description The types of events that are sent. */
            event_types?: components["schemas"]["WebhookEventType"][];
            /** @description Your own note about the webhook. */
            description?: string | null;
            /** @description A disabled webhook receives nothing; events of that time are not sent later. Enabling clears `disabled_reason`. */
            enabled?: boolean;
        };
        EventFilter: {
            /** @description Only events of this turn. */
            turn_id?: string;
            /** @description Only events of these types, separated by commas: user.message, turn.continued, agent.thinking, agent.message, user.tool_confirmation, user.custom_tool_result, user.elicitation_result, agent.tool_use, agent.custom_tool_use, agent.requires_action, agent.tool_progress, agent.tool_result, agent.file, agent.mcp_error, agent.context_compacted, agent.model_changed, turn.completed, turn.cancelled, turn.failed. */
            types?: string;
            /** @description `asc`: oldest first (the default); `desc`: newest first. */
            order?: components["schemas"]["EventOrder"];
        };
        /**
         * EventOrder
         * @description `asc`: oldest first. `desc`: newest first.
         * @enum {string}
         */
        EventOrder: "asc" | "desc";
        SessionFilter: {
            /** @description true: only sessions whose turn waits for an answer; false: only sessions whose turn does not. */
            requires_action?: boolean;
            /** @description Only sessions with this status. */
            status?: components["schemas"]["SessionStatus"];
            /**
             * Format: date-time
             * @description Only sessions that were created after this time.
             */
            created_after?: string;
            /**
             * Format: date-time
             * @description Only sessions that were created before this time.
             */
            created_before?: string;
            /** @description `metadata[KEY]=VALUE`: only sessions with all of these pairs. */
            metadata?: {
                [key: string]: string;
            };
        };
        /**
         * UsageGroup
         * @description What the turns of a group took.
         * @example {
         *       "group": "2026-11-21",
         *       "turns": 12,
         *       "model_calls": 31,
         *       "input_tokens": 48210,
         *       "output_tokens": 5120,
         *       "cache_read_input_tokens": 30000,
         *       "cache_creation_input_tokens": 4000,
         *       "cost": {
         *         "amount": "0.155430",
         *         "currency": "USD"
         *       }
         *     }
         */
        UsageGroup: {
            /** @description The day, the model’s id, the session’s id or the value of the metadata key; null for turns of sessions without the key. */
            group: string | null;
            /**
             * Format: int64
             * @description Number of turns.
             */
            turns: number;
            /**
             * Format: int64
             * @description Number of model calls.
             */
            model_calls: number;
            /**
             * Format: int64
             * @description All input tokens, cache reads and writes included.
             */
            input_tokens: number;
            /**
             * Format: int64
             * @description All output tokens, thinking included.
             */
            output_tokens: number;
            /**
             * Format: int64
             * @description Input tokens that the model’s server read from its cache.
             */
            cache_read_input_tokens: number;
            /**
             * Format: int64
             * @description Input tokens that the model’s server wrote to its cache.
             */
            cache_creation_input_tokens: number;
            /** @description What the model calls cost; null if one of them has no price. */
            cost: components["schemas"]["Money"] | null;
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
            /** @description Only files that the agent delivered in this session. */
            session_id?: string;
            /** @description Only files of this origin. */
            origin?: components["schemas"]["FileOrigin"];
        };
        WebhookDeliveryFilter: {
            /** @description Only deliveries in this state. */
            state?: components["schemas"]["DeliveryState"];
        };
        /**
         * DownloadLink
         * @description Where to download a file.
         * @example {
         *       "url": "https://agents.example.com/files/file_01kag8x5t6y7u8i9o0p1a2s3d4?expires=1795254420&signature=4f1c…"
         *     }
         */
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
