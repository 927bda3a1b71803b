#if Gateway
    internal import CMosquitto

    /// Properties of a packet to send, in libmosquitto's form.
    struct PropertyList: ~Copyable {
        private(set) var pointer: OpaquePointer?
        private var failure = MOSQ_ERR_SUCCESS.rawValue

        init() {}

        /// The properties of a message.
        init(_ message: MQTTMessage, expiry: Duration?) {
            if let expiry { add(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL, seconds: expiry) }
            if let topic = message.responseTopic { add(MQTT_PROP_RESPONSE_TOPIC, topic) }
            if let type = message.contentType { add(MQTT_PROP_CONTENT_TYPE, type) }
            if let data = message.correlationData {
                note(
                    mosquitto_property_add_binary(
                        &pointer, Int32(MQTT_PROP_CORRELATION_DATA.rawValue), data, UInt16(data.count)))
            }
            for property in message.userProperties {
                note(
                    mosquitto_property_add_string_pair(
                        &pointer, Int32(MQTT_PROP_USER_PROPERTY.rawValue), property.name, property.value))
            }
        }

        deinit {
            var pointer = pointer
            mosquitto_property_free_all(&pointer)
        }

        /// Adds whole seconds, rounded up, so that a positive duration never becomes zero.
        mutating func add(_ property: mqtt5_property, seconds: Duration) {
            let (whole, fraction) = seconds.components
            add(property, UInt32(clamping: whole + (fraction > 0 ? 1 : 0)))
        }

        mutating func add(_ property: mqtt5_property, _ number: UInt32) {
            note(mosquitto_property_add_int32(&pointer, Int32(property.rawValue), number))
        }

        mutating func add(_ property: mqtt5_property, varint number: UInt32) {
            note(mosquitto_property_add_varint(&pointer, Int32(property.rawValue), number))
        }

        private mutating func add(_ property: mqtt5_property, _ text: String) {
            note(mosquitto_property_add_string(&pointer, Int32(property.rawValue), text))
        }

        private mutating func note(_ result: Int32) { if result != MOSQ_ERR_SUCCESS.rawValue { failure = result } }

        /// Throws if a property was not added.
        func check() throws(MQTTError) {
            guard failure == MOSQ_ERR_SUCCESS.rawValue else { throw MQTTError(result: failure, isOpening: false) }
        }

        /// Gives the properties to a function that frees them.
        consuming func release() -> OpaquePointer? { pointer.take() }
    }
#endif
