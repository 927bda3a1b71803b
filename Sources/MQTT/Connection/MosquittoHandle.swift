#if Gateway
    internal import CMosquitto
    internal import Loop

    /// A client of libmosquitto, for one connection: all state that outlives a connection is the `MQTTClient`'s.
    ///
    /// Safe to share: it is used by the thread that opens it, and then on the loop's thread only. It is destroyed with
    /// its last reference, by either of them; see Docs/Decisions/0014.
    final class MosquittoHandle: @unchecked Sendable {
        /// What a packet from the broker says.
        enum Event {
            case connected(Welcome)
            case refused(UInt8)
            case acknowledged(identifier: UInt16, reasonCode: UInt8)
            case subscribed(identifier: UInt16, reasonCode: UInt8)
            case message(MQTTMessage, subscriptions: [Int])
            case disconnected(UInt8)
        }

        /// What the broker says about itself and the session.
        struct Welcome {
            let sessionPresent: Bool
            /// In seconds; nil if the client's is accepted.
            var keepAlive: UInt16?
            var hasSubscriptionIdentifiers = true
        }

        let pointer: OpaquePointer
        private var events: [Event] = []
        /// The last error that libmosquitto has logged while the connection was being opened.
        private(set) var detail = ""

        private static let isReady: Bool = mosquitto_lib_init() == MOSQ_ERR_SUCCESS.rawValue

        /// Opens a connection: reads files, resolves the name, and begins to connect. Blocks the thread.
        ///
        /// - Parameter onlyIPv4: leaves out other addresses. libmosquitto tries only the first that it can begin to
        ///   connect to.
        init(_ configuration: MQTTClient.Configuration, cleanStart: Bool, onlyIPv4: Bool) throws(MQTTError) {
            guard Self.isReady, let pointer = mosquitto_new(configuration.clientID, cleanStart, nil) else {
                throw MQTTError(.unreachable, "libmosquitto has no memory")
            }
            self.pointer = pointer
            mosquitto_user_data_set(pointer, Unmanaged.passUnretained(self).toOpaque())
            setCallbacks()
            try set(configuration)
            try begin(configuration, onlyIPv4: onlyIPv4)
        }

        deinit { mosquitto_destroy(pointer) }

        /// The result of a call as an error.
        func error(_ result: Int32, isOpening: Bool = false) -> MQTTError {
            MQTTError(result: result, isOpening: isOpening, detail: detail)
        }

        private func check(_ result: Int32) throws(MQTTError) {
            guard result != MOSQ_ERR_SUCCESS.rawValue else { return }
            throw error(result, isOpening: true)
        }

        private func set(_ configuration: MQTTClient.Configuration) throws(MQTTError) {
            try check(mosquitto_int_option(pointer, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5))
            try check(mosquitto_int_option(pointer, MOSQ_OPT_SEND_MAXIMUM, Int32(configuration.window)))
            if case .tcp = configuration.broker { try check(mosquitto_int_option(pointer, MOSQ_OPT_TCP_NODELAY, 1)) }
            if let credentials = configuration.credentials {
                try check(mosquitto_username_pw_set(pointer, credentials.username, credentials.password))
            }
            if let will = configuration.will { try set(will) }
            guard let tls = configuration.tls else { return }
            if tls.authorityFile == nil, tls.authorityPath == nil {
                try check(mosquitto_int_option(pointer, MOSQ_OPT_TLS_USE_OS_CERTS, 1))
            }
            if tls.authorityFile != nil || tls.authorityPath != nil || tls.certificate != nil {
                let path = tls.authorityPath ?? (tls.authorityFile == nil ? "/etc/ssl/certs" : nil)
                let result = mosquitto_tls_set(
                    pointer, tls.authorityFile, path, tls.certificate?.file, tls.certificate?.key,
                    // Otherwise, OpenSSL asks on the terminal for the passphrase of a key.
                    { _, _, _, _ in 0 })
                guard result == MOSQ_ERR_SUCCESS.rawValue else {
                    throw MQTTError(.insecure, "a file for encryption cannot be read")
                }
            }
            try check(mosquitto_tls_opts_set(pointer, tls.isInsecureWithoutVerification ? 0 : 1, nil, nil))
            try check(mosquitto_tls_insecure_set(pointer, tls.isInsecureWithoutVerification))
        }

        private func set(_ will: MQTTClient.Will) throws(MQTTError) {
            var properties = PropertyList(will.message, expiry: will.message.expiry)
            if will.delay > .zero { properties.add(MQTT_PROP_WILL_DELAY_INTERVAL, seconds: will.delay) }
            try properties.check()
            let (message, list) = (will.message, properties.release())
            let result = mosquitto_will_set_v5(
                pointer, message.topic, Int32(message.payload.count), message.payload, message.qos.rawValue,
                message.retain, list)
            guard result != MOSQ_ERR_SUCCESS.rawValue else { return }
            var unused = list
            mosquitto_property_free_all(&unused)
            throw error(result, isOpening: true)
        }

        private func begin(_ configuration: MQTTClient.Configuration, onlyIPv4: Bool) throws(MQTTError) {
            var properties = PropertyList()
            if configuration.sessionExpiry > .zero {
                properties.add(MQTT_PROP_SESSION_EXPIRY_INTERVAL, seconds: configuration.sessionExpiry)
            }
            properties.add(MQTT_PROP_MAXIMUM_PACKET_SIZE, UInt32(configuration.maximumPacket))
            try properties.check()
            // The asynchronous function has no parameter for properties. This one keeps them before it finds that
            // there is no host.
            _ = mosquitto_connect_bind_v5(pointer, nil, 0, 0, nil, properties.pointer)
            let (host, port): (String, UInt16) =
                switch configuration.broker {
                case .tcp(let host, let port): (host, port)
                case .unix(let path): (path, 0)
                }
            let keepAlive = Int32(configuration.keepAlive.components.seconds)
            try check(
                mosquitto_connect_bind_async(pointer, host, Int32(port), keepAlive, onlyIPv4 ? "0.0.0.0" : nil))
        }

        // MARK: Callbacks

        func takeEvents() -> [Event] {
            guard !events.isEmpty else { return [] }
            defer { events.removeAll(keepingCapacity: true) }
            return events
        }

        private func setCallbacks() {
            mosquitto_log_callback_set(pointer) { _, me, level, text in
                guard level & MOSQ_LOG_ERR != 0, let text else { return }
                MosquittoHandle.from(me).detail = String(cString: text)
            }
            mosquitto_connect_v5_callback_set(pointer) { _, me, code, flags, properties in
                MosquittoHandle.from(me).didConnect(code, flags, ReceivedProperties(properties))
            }
            mosquitto_disconnect_v5_callback_set(pointer) { _, me, code, _ in
                // Errors of the connection are also results of the calls. Only the broker's reason is not.
                guard let code = UInt8(exactly: code), code >= 0x80 else { return }
                MosquittoHandle.from(me).events.append(.disconnected(code))
            }
            mosquitto_publish_v5_callback_set(pointer) { _, me, identifier, code, _ in
                MosquittoHandle.from(me).events.append(
                    .acknowledged(identifier: UInt16(truncatingIfNeeded: identifier), reasonCode: UInt8(clamping: code))
                )
            }
            mosquitto_subscribe_callback_set(pointer) { _, me, identifier, count, codes in
                let code = count > 0 ? codes?.pointee : nil
                MosquittoHandle.from(me).events.append(
                    .subscribed(
                        identifier: UInt16(truncatingIfNeeded: identifier), reasonCode: UInt8(clamping: code ?? 0x80)))
            }
            mosquitto_message_v5_callback_set(pointer) { _, me, message, properties in
                guard let message else { return }
                MosquittoHandle.from(me).didReceive(message.pointee, ReceivedProperties(properties))
            }
        }

        private static func from(_ me: UnsafeMutableRawPointer?) -> MosquittoHandle {
            Unmanaged<MosquittoHandle>.fromOpaque(me!).takeUnretainedValue()
        }

        private func didConnect(_ code: Int32, _ flags: Int32, _ properties: ReceivedProperties) {
            // libmosquitto formats a line for each packet, even if the line is not used.
            mosquitto_log_callback_set(pointer, nil)
            guard code == 0 else { return events.append(.refused(UInt8(clamping: code))) }
            var welcome = Welcome(sessionPresent: flags & 1 != 0)
            for property in properties {
                switch property.kind {
                case MQTT_PROP_SERVER_KEEP_ALIVE: welcome.keepAlive = property.int16
                case MQTT_PROP_SUBSCRIPTION_ID_AVAILABLE: welcome.hasSubscriptionIdentifiers = property.byte != 0
                default: break
                }
            }
            events.append(.connected(welcome))
        }

        private func didReceive(_ received: mosquitto_message, _ properties: ReceivedProperties) {
            let payload = UnsafeRawBufferPointer(start: received.payload, count: Int(max(0, received.payloadlen)))
            var message = MQTTMessage(
                String(cString: received.topic), Array(payload), qos: received.qos == 0 ? .atMostOnce : .atLeastOnce,
                retain: received.retain)
            var subscriptions: [Int] = []
            for property in properties {
                switch property.kind {
                case MQTT_PROP_MESSAGE_EXPIRY_INTERVAL: message.expiry = .seconds(Int64(property.int32))
                case MQTT_PROP_RESPONSE_TOPIC: message.responseTopic = property.string
                case MQTT_PROP_CORRELATION_DATA: message.correlationData = property.binary
                case MQTT_PROP_CONTENT_TYPE: message.contentType = property.string
                case MQTT_PROP_USER_PROPERTY:
                    let (name, value) = property.pair
                    message.userProperties.append(MQTTMessage.UserProperty(name, value))
                case MQTT_PROP_SUBSCRIPTION_IDENTIFIER: subscriptions.append(Int(property.varint))
                default: break
                }
            }
            events.append(.message(message, subscriptions: subscriptions))
        }
    }
#endif
