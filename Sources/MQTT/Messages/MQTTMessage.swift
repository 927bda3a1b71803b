#if Gateway
    internal import CMosquitto

    /// A message to or from a broker.
    package struct MQTTMessage: Hashable, Sendable {
        /// How often a message is delivered.
        package enum QoS: Int32, Comparable, Sendable {
            case atMostOnce = 0
            case atLeastOnce = 1

            package static func < (left: QoS, right: QoS) -> Bool { left.rawValue < right.rawValue }
        }

        /// A name and a value that an application defines.
        package struct UserProperty: Hashable, Sendable {
            package var name: String
            package var value: String

            package init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
        }

        package var topic: String
        package var payload: [UInt8]
        package var qos: QoS
        /// Whether the broker keeps the message for later subscribers. In a received message: whether it was kept.
        package var retain: Bool
        /// The time after which the broker drops the message, in whole seconds: at most 2³² − 1.
        package var expiry: Duration?
        package var responseTopic: String?
        package var correlationData: [UInt8]?
        package var contentType: String?
        package var userProperties: [UserProperty]

        package init(
            _ topic: String, _ payload: [UInt8], qos: QoS = .atMostOnce, retain: Bool = false, expiry: Duration? = nil,
            responseTopic: String? = nil, correlationData: [UInt8]? = nil, contentType: String? = nil,
            userProperties: [UserProperty] = []
        ) {
            self.topic = topic
            self.payload = payload
            self.qos = qos
            self.retain = retain
            self.expiry = expiry
            self.responseTopic = responseTopic
            self.correlationData = correlationData
            self.contentType = contentType
            self.userProperties = userProperties
        }

        /// The bytes of the message in a queue, without what each message needs besides.
        var size: Int {
            userProperties.reduce(
                topic.utf8.count + payload.count + (correlationData?.count ?? 0) + (responseTopic?.utf8.count ?? 0)
                    + (contentType?.utf8.count ?? 0)
            ) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        }

        /// The maximum number of bytes of a packet, without its first five (MQTT 5.0, section 2.1.4).
        static let maximumSize = 268_435_455

        /// Throws `.invalidArgument` unless the message can be published.
        func check() throws(MQTTError) {
            try Self.checkTopic(topic)
            if let responseTopic { try Self.checkTopic(responseTopic) }
            if let contentType { try Self.checkText(contentType) }
            for property in userProperties {
                try Self.checkText(property.name)
                try Self.checkText(property.value)
            }
            guard correlationData?.count ?? 0 <= UInt16.max else {
                throw MQTTError(.invalidArgument, "correlation data has more than 65535 bytes")
            }
            guard payload.count <= Self.maximumSize else {
                throw MQTTError(.tooLarge, "a payload has more than \(Self.maximumSize) bytes")
            }
            guard expiry.map({ (.seconds(1) ... .seconds(Int64(UInt32.max))).contains($0) }) ?? true else {
                throw MQTTError(.invalidArgument, "an expiry is not between 1 s and 2³² − 1 s")
            }
        }

        /// Throws `.invalidArgument` unless messages can have the topic: it is not empty and has no wildcard, no
        /// control character, and at most 65535 bytes and 200 levels.
        static func checkTopic(_ topic: String) throws(MQTTError) {
            try checkText(topic)
            guard hasValidLevels(topic),
                mosquitto_pub_topic_check2(topic, topic.utf8.count) == MOSQ_ERR_SUCCESS.rawValue
            else { throw MQTTError(.invalidArgument, "\"\(topic)\" is not a valid topic") }
        }

        /// Whether a topic or a filter is not empty, and has no more levels than mosquitto accepts.
        static func hasValidLevels(_ text: String) -> Bool {
            !text.isEmpty && text.utf8.count { $0 == UInt8(ascii: "/") } < 200
        }

        /// Throws `.invalidArgument` unless MQTT allows the string.
        static func checkText(_ text: String) throws(MQTTError) {
            let count = text.utf8.count
            guard count <= UInt16.max, mosquitto_validate_utf8(text, Int32(count)) == MOSQ_ERR_SUCCESS.rawValue else {
                throw MQTTError(.invalidArgument, "a string has a control character or more than 65535 bytes")
            }
        }
    }
#endif
