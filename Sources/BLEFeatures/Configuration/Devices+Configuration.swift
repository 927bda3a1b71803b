public import BLE

extension Devices {
    /// The description of a kind of device: how to recognize it, its protocol, and its features.
    public struct Configuration: Sendable {
        /// The service that devices advertise and contain.
        public let service: BluetoothUUID
        /// The characteristic that requests are written to.
        public let request: BluetoothUUID
        /// The characteristic that notifies replies.
        public let reply: BluetoothUUID
        /// The company whose manufacturer data carries the serial number (Assigned Numbers, section 7.1).
        public let company: UInt16
        /// The features of the devices.
        public let features: [any Feature.Type]
        /// The encryption of messages. Nil if messages are not encrypted.
        public let encryption: MessageEncryption?
        /// The type of writing requests. With response by default.
        public var writeType = WriteType.withResponse
        /// The maximum wait for a reply. 10 s by default.
        public var replyTimeout: Duration
        /// How long an abandoned request waits for its late reply; see ``TransactionConfiguration/lateReplyGrace``. 2 s
        /// by default.
        public var lateReplyGrace = Duration.seconds(2)
        /// The maximum time for one attempt to connect, until all features are ready. 15 s by default.
        public var connectTimeout: Duration
        /// The maximum number of attempts to connect. Only retryable errors lead to another attempt. 3 by default.
        public var connectAttempts: Int
        /// How long a device without a link may be silent before it is removed from the list. 8 s by default, at least
        /// 1 s.
        public var staleness: Duration
        /// The handling of a message that does not fit in one packet.
        public var longFrames: TransactionConfiguration.LongFrames
        /// Whether devices split their frames over several notifications.
        public var reassembles: Bool
        /// The command with which devices tell that they reject a request, and why. Nil if they do not; a rejected
        /// request then ends with `commandTimedOut`. Both sides must use it.
        ///
        /// A rejection is a notification with this command. Its payload is the command of the request (two bytes, as in
        /// a header), 1 if the request was encrypted or 0, the ``MessageRejection/code``, and in `bound` mode the
        /// counter of an encrypted request (8 bytes, the highest first). It is encrypted if the request was.
        ///
        /// The request ends with `messageRejected`, whose cause is the ``MessageRejection``.
        public let rejections: MessageCommand?
        /// The maximum number of unprocessed packets; see ``TransactionConfiguration/bufferedPackets``. 1024 by
        /// default.
        public var bufferedPackets = 1024

        /// The service of devices that use the protocol's defaults.
        public static let defaultService = uuid(0)
        /// The request characteristic of devices that use the protocol's defaults.
        public static let defaultRequest = uuid(1)
        /// The reply characteristic of devices that use the protocol's defaults.
        public static let defaultReply = uuid(2)
        /// The company identifier for tests, which is not assigned to a company.
        public static let defaultCompany: UInt16 = 0xFFFF

        /// Returns `0000000N-9f34-11ee-8c90-0242ac120002`.
        private static func uuid(_ number: UInt64) -> BluetoothUUID {
            BluetoothUUID(high: number << 32 | 0x9F34_11EE, low: 0x8C90_0242_AC12_0002)
        }

        /// Creates a configuration. Throws `commandConflict` if two features claim the same command, or if one claims
        /// the command of the key exchange or of rejections.
        public init(
            service: BluetoothUUID = defaultService, request: BluetoothUUID = defaultRequest,
            reply: BluetoothUUID = defaultReply, company: UInt16 = defaultCompany, features: [any Feature.Type],
            encryption: MessageEncryption? = nil, replyTimeout: Duration = .seconds(10),
            connectTimeout: Duration = .seconds(15), connectAttempts: Int = 3, staleness: Duration = .seconds(8),
            longFrames: TransactionConfiguration.LongFrames = .longWrite, reassembles: Bool = false,
            rejections: MessageCommand? = nil
        ) throws(BLEError) {
            self.service = service
            self.request = request
            self.reply = reply
            self.company = company
            self.features = features
            self.encryption = encryption
            self.replyTimeout = replyTimeout
            self.connectTimeout = connectTimeout
            self.connectAttempts = max(1, connectAttempts)
            self.staleness = staleness
            self.longFrames = longFrames
            self.reassembles = reassembles
            self.rejections = rejections
            try Self.checkClaims(features, encryption, rejections)
        }

        private static func checkClaims(
            _ features: [any Feature.Type], _ encryption: MessageEncryption?, _ rejections: MessageCommand?
        ) throws(BLEError) {
            var owners: [MessageCommand: String] = [:]
            if let encryption { owners[encryption.command] = "the key exchange" }
            if let rejections, let owner = owners.updateValue("rejections", forKey: rejections) {
                throw BLEError(
                    .commandConflict, "command \(rejections) is used for rejections and for \(owner)",
                    isRetryable: false, remedy: "Choose another one.")
            }
            for feature in features {
                for command in feature.commands.sorted(by: { $0.rawValue < $1.rawValue }) {
                    if let owner = owners.updateValue("\(feature)", forKey: command) {
                        throw BLEError(
                            .commandConflict, "command \(command) is claimed by \(owner) and by \(feature)",
                            isRetryable: false, remedy: "Leave it to one of them.")
                    }
                }
            }
        }

        /// Returns the serial number in an advertisement: the six bytes after the company identifier, in lowercase
        /// hexadecimal. Nil if the advertisement is not from such a device.
        public func serial(in advertisement: Advertisement) -> String? {
            guard let data = advertisement.manufacturerData[company], data.count >= 6 else { return nil }
            return Hex.string(Array(data.prefix(6)))
        }

        /// The criteria that recognize the devices.
        var criteria: DiscoveryCriteria {
            .service(service) && .custom { [self] in serial(in: $0) != nil }
        }

        var transactions: TransactionConfiguration {
            TransactionConfiguration(
                request: CharacteristicKey(service: service, characteristic: request),
                reply: CharacteristicKey(service: service, characteristic: reply), writeType: writeType,
                replyTimeout: replyTimeout, lateReplyGrace: lateReplyGrace, longFrames: longFrames,
                bufferedPackets: bufferedPackets)
        }
    }
}
