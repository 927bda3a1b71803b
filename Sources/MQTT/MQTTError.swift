#if Gateway
    internal import CMosquitto
    internal import Waiting

    /// An error of an MQTT client, or of its broker.
    package struct MQTTError: Error, Hashable, Sendable {
        package enum Code: Hashable, Sendable {
            /// An argument is invalid, such as a topic with a wildcard.
            case invalidArgument
            /// The message is larger than the queue of the client, or the broker, accepts.
            case tooLarge
            /// The message was dropped before it was sent: the queue was full, the message expired, or a newer message
            /// for the same topic replaced it.
            case dropped
            /// The deadline passed.
            case timedOut
            /// The waiting task was cancelled.
            case cancelled
            /// The client was shut down.
            case shutDown
            /// The broker's name or address cannot be resolved or connected to.
            case unreachable
            /// The connection ended, or the broker stopped answering.
            case connectionLost
            /// No encrypted connection was possible, for example because a certificate is not valid.
            case insecure
            /// The broker does not accept the client's name and password, its id, or its version of the protocol.
            case notAuthorized
            /// Another client with the same id has connected.
            case sessionTakenOver
            /// The broker refuses for another reason; see ``MQTTError/reasonCode``.
            case refused
            /// The broker does not conform to the protocol.
            case malformed
        }

        package var code: Code
        package var message: String
        /// The reason code that the broker sent (MQTT 5.0, section 2.4).
        package var reasonCode: UInt8?

        package init(_ code: Code, _ message: String, reasonCode: UInt8? = nil) {
            self.code = code
            self.message = message
            self.reasonCode = reasonCode
        }

        /// Whether another attempt soon is unlikely to succeed.
        package var isLasting: Bool {
            [.invalidArgument, .insecure, .notAuthorized, .sessionTakenOver].contains(code)
        }

        static let cancelled = MQTTError(.cancelled, "the task was cancelled")
        static let shutDown = MQTTError(.shutDown, "the client was shut down")

        /// The error for a reason code of the broker, at least 0x80.
        init(reasonCode: UInt8) {
            let code: Code =
                switch Int(reasonCode) {
                case MQTT_RC_UNSUPPORTED_PROTOCOL_VERSION.code, MQTT_RC_CLIENTID_NOT_VALID.code,
                    MQTT_RC_BAD_USERNAME_OR_PASSWORD.code, MQTT_RC_NOT_AUTHORIZED.code, MQTT_RC_BANNED.code,
                    MQTT_RC_BAD_AUTHENTICATION_METHOD.code:
                    .notAuthorized
                case MQTT_RC_SESSION_TAKEN_OVER.code: .sessionTakenOver
                case MQTT_RC_MALFORMED_PACKET.code, MQTT_RC_PROTOCOL_ERROR.code: .malformed
                case MQTT_RC_PACKET_TOO_LARGE.code: .tooLarge
                default: .refused
                }
            self.init(
                code, "the broker answered: \(String(cString: mosquitto_reason_string(Int32(reasonCode))))",
                reasonCode: reasonCode)
        }

        /// The error for a result of libmosquitto. Called immediately after it, because some results are in `errno`.
        ///
        /// - Parameters:
        ///   - isOpening: whether the connection was being opened.
        ///   - detail: what libmosquitto has logged.
        init(result: Int32, isOpening: Bool, detail: String = "") {
            let text = String(cString: mosquitto_strerror(result))
            let code: Code =
                switch mosq_err_t(rawValue: result) {
                case MOSQ_ERR_EAI: .unreachable
                case MOSQ_ERR_ERRNO: isOpening ? .unreachable : .connectionLost
                case MOSQ_ERR_TLS, MOSQ_ERR_OCSP: .insecure
                case MOSQ_ERR_PROTOCOL, MOSQ_ERR_MALFORMED_PACKET: .malformed
                case MOSQ_ERR_INVAL, MOSQ_ERR_NOT_SUPPORTED, MOSQ_ERR_MALFORMED_UTF8, MOSQ_ERR_DUPLICATE_PROPERTY,
                    MOSQ_ERR_QOS_NOT_SUPPORTED:
                    .invalidArgument
                case MOSQ_ERR_OVERSIZE_PACKET, MOSQ_ERR_PAYLOAD_SIZE: .tooLarge
                default: .connectionLost
                }
            self.init(code, detail.isEmpty ? text : "\(text) (\(detail))")
        }
    }

    extension MQTTError: CustomStringConvertible {
        package var description: String { "\(code): \(message)" }
    }

    extension mqtt5_return_codes {
        fileprivate var code: Int { Int(rawValue) }
    }

    /// The result of a wait, with this module's errors.
    typealias MQTTOutcome<Value: Sendable> = FirstOutcome<Value, MQTTWaitErrors>

    enum MQTTWaitErrors: WaitErrors {
        static var cancelled: MQTTError { .cancelled }
    }
#endif
