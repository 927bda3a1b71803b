#if Gateway
    internal import CMosquitto
    internal import Loop

    #if canImport(Glibc)
        internal import Glibc
    #elseif canImport(Musl)
        internal import Musl
    #endif

    /// A connection to a broker, from the begin of the TCP connection on. libmosquitto's external loop, on ours.
    ///
    /// Safe to share because everything happens on the loop's thread, which each entry point checks.
    final class BrokerConnection: @unchecked Sendable {
        private let handle: MosquittoHandle
        private let loop: EventLoop
        /// Called after each turn, with what the broker has sent.
        private let onTurn: @Sendable ([MosquittoHandle.Event]) -> Void
        /// Called once, if the connection ends by itself.
        private let onLoss: @Sendable (MQTTError) -> Void
        /// Retains the connection until it is closed.
        private var watch: DescriptorWatch?
        /// Whether the network has a connection. libmosquitto does not wait for that by itself.
        private(set) var isReached = false
        /// Whether the broker has accepted the client.
        private var isUp = false

        private static let closed = MQTTError(.connectionLost, "the broker closed the connection")

        /// The maximum number of packets to read before the loop does its other work.
        private static let packetsPerTurn: Int32 = 64

        /// Throws `.unreachable` if the process can have no more descriptors.
        init(
            _ handle: MosquittoHandle, on loop: EventLoop,
            onTurn: @escaping @Sendable ([MosquittoHandle.Event]) -> Void,
            onLoss: @escaping @Sendable (MQTTError) -> Void
        ) throws(MQTTError) {
            loop.checkIsolated()
            self.handle = handle
            self.loop = loop
            self.onTurn = onTurn
            self.onLoss = onLoss
            // libmosquitto closes the socket when it wants, and a watch needs its descriptor.
            let socket = FileDescriptor(duplicating: mosquitto_socket(handle.pointer))
            guard socket.rawValue >= 0 else { throw MQTTError(.unreachable, "\(LoopError.exhausted)") }
            watch = DescriptorWatch(socket, on: loop, for: [.reading, .writing]) { _, ready in self.step(ready) }
        }

        /// Stops using the socket, which closes with the last reference to the handle.
        func close() {
            loop.checkIsolated()
            watch?.cancel()
            watch = nil
        }

        /// Whether more should not be sent now, because the socket has no room.
        var wantsWrite: Bool { mosquitto_want_write(handle.pointer) }

        private func step(_ ready: DescriptorWatch.Readiness) {
            var result = MOSQ_ERR_SUCCESS.rawValue
            let (isWritable, isReadable) = (ready.contains(.writing), ready != .writing)
            if !isUp {
                // While TLS is being negotiated, libmosquitto does not notice that a socket has ended.
                let end = ble_socket_end(mosquitto_socket(handle.pointer))
                if end < 0 { isReached = true }
                if end != 0 {
                    return lose(end < 0 ? Self.closed : MQTTError(.unreachable, String(cString: strerror(end))))
                }
                if isWritable { isReached = true }
            }
            // Until the broker has answered, each step of the negotiation may be to read or to write.
            if isReadable || !isUp { result = ble_mosquitto_read(handle.pointer, Self.packetsPerTurn) }
            if isWritable || !isUp, result == MOSQ_ERR_SUCCESS.rawValue {
                result = mosquitto_loop_write(handle.pointer, 1)
            }
            finish(result)
        }

        /// Delivers what has arrived, and ends the connection after an error.
        private func finish(_ result: Int32) {
            // Made before anything else, because it may be in `errno`.
            var error = result == MOSQ_ERR_SUCCESS.rawValue ? nil : handle.error(result, isOpening: !isReached)
            // What was invalid is the broker's.
            if error?.code == .invalidArgument { error?.code = .malformed }
            var reason: MQTTError?
            let events = handle.takeEvents()
            for event in events {
                switch event {
                case .connected: isUp = true
                case .refused(let code), .disconnected(let code): reason = MQTTError(reasonCode: code)
                default: break
                }
            }
            onTurn(events)
            guard watch != nil else { return }
            if let reason { return lose(reason) }
            if let error { return lose(error) }
            guard mosquitto_socket(handle.pointer) >= 0 else {
                return lose(Self.closed)
            }
            updateWatch()
        }

        private func lose(_ error: MQTTError) {
            guard watch != nil else { return }
            close()
            onLoss(error)
        }

        private func updateWatch() {
            // Before the broker's answer, libmosquitto says that it wants to write for as long as it negotiates TLS.
            let isRoomAwaited = isUp ? wantsWrite : !isReached
            watch?.readiness = isRoomAwaited ? [.reading, .writing] : .reading
        }

        // MARK: Packets

        /// Sends a message. Returns its packet identifier.
        func publish(_ message: MQTTMessage, expiry: Duration?) throws(MQTTError) -> UInt16 {
            let properties = PropertyList(message, expiry: expiry)
            try properties.check()
            var identifier: Int32 = 0
            try check(
                mosquitto_publish_v5(
                    handle.pointer, &identifier, message.topic, Int32(message.payload.count), message.payload,
                    message.qos.rawValue, message.retain, properties.pointer))
            return UInt16(truncatingIfNeeded: identifier)
        }

        /// Sends a subscription. Returns the identifier of the packet.
        ///
        /// - Parameter number: what the broker adds to the messages of this subscription; nil if it cannot.
        func subscribe(_ filter: TopicFilter, _ qos: MQTTMessage.QoS, number: Int?) throws(MQTTError) -> UInt16 {
            var properties = PropertyList()
            if let number { properties.add(MQTT_PROP_SUBSCRIPTION_IDENTIFIER, varint: UInt32(number)) }
            try properties.check()
            var identifier: Int32 = 0
            try check(
                mosquitto_subscribe_v5(
                    handle.pointer, &identifier, filter.description, qos.rawValue, 0, properties.pointer))
            return UInt16(truncatingIfNeeded: identifier)
        }

        func unsubscribe(_ filter: TopicFilter) throws(MQTTError) {
            try check(mosquitto_unsubscribe(handle.pointer, nil, filter.description))
        }

        /// Sends a ping if it is time, and ends the connection if the last one was not answered.
        func checkKeepAlive() { finish(mosquitto_loop_misc(handle.pointer)) }

        /// Takes leave of the broker, which then does not publish the will unless it is asked to, and closes.
        func disconnect(publishingWill: Bool) {
            let code = publishingWill ? MQTT_RC_DISCONNECT_WITH_WILL_MSG : MQTT_RC_NORMAL_DISCONNECTION
            if watch != nil { _ = mosquitto_disconnect_v5(handle.pointer, Int32(code.rawValue), nil) }
            close()
        }

        private func check(_ result: Int32) throws(MQTTError) {
            defer { updateWatch() }
            guard result != MOSQ_ERR_SUCCESS.rawValue else { return }
            throw handle.error(result)
        }
    }
#endif
