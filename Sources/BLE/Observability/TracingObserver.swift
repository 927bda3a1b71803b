#if DistributedTracingSupport
    internal import Tracing

    /// Makes each operation a span of the tracer that is active in its caller's task.
    struct TracingObserver: ActivityObserver {
        private let role: ObservedRole

        init(_ role: ObservedRole) { self.role = role }

        func began(_ operation: ObservedOperation) -> ObservedEnd? {
            let tracer = InstrumentationSystem.tracer
            return tracer is NoOpTracer ? nil : span(operation, tracer)
        }

        private func span(_ operation: ObservedOperation, _ tracer: some Tracer) -> ObservedEnd {
            let isOfRequest = role == .host && operation.kind != .indicate
            // What the central does by itself, and what another device asks for, is part of no call.
            let isOfCall = !isOfRequest && operation.kind != .reconnect
            let span = tracer.startSpan(
                operation.kind.rawValue,
                context: isOfCall ? InstrumentationContext.current ?? .topLevel : .topLevel,
                ofKind: isOfRequest ? .server : .client)
            span.updateAttributes { attributes in
                attributes["ble.role"] = role.rawValue
                if let peer = operation.peer { attributes["ble.peer"] = peer.rawValue }
                if let characteristic = operation.characteristic {
                    attributes["ble.characteristic"] = characteristic.description
                }
            }
            return { code, _ in
                if let code {
                    span.attributes["error.type"] = code.rawValue
                    // A caller that gives up is not an error of the operation.
                    if code != .cancelled { span.setStatus(SpanStatus(code: .error)) }
                }
                span.end()
            }
        }

        func counted(_ event: CountedEvent) {}
    }
#endif
