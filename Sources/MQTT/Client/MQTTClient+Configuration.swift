#if Gateway
    package import BLE

    extension MQTTClient {
        /// How a client connects, and what it keeps.
        package struct Configuration: Sendable {
            package var broker: Broker
            /// Nil for a connection without encryption.
            package var tls: TLS?
            package var credentials: Credentials?
            /// The client's id, at most 65535 bytes, which no other client of the broker may have.
            package var clientID: String
            /// The longest time without a packet, in whole seconds from 5 s to 65535 s. A broker that no longer answers
            /// is noticed after at most 2.5 times this long.
            package var keepAlive: Duration = .seconds(60)
            /// What the broker publishes when the connection ends without a farewell.
            package var will: Will?
            /// The time for which the broker keeps subscriptions and messages for a client that is away, in whole
            /// seconds. Zero makes it forget them at once.
            package var sessionExpiry: Duration = .zero
            /// The limit for one attempt to connect.
            package var connectTimeout: Duration = .seconds(30)
            /// The pauses between attempts. After an error that is unlikely to end soon, such as a wrong password, the
            /// longest.
            package var backoff = Backoff.standard
            package var queue = QueueLimits()
            /// Whether messages that were not sent, or not acknowledged, are sent on the next connection. If not, they
            /// are dropped with the connection, and counted.
            package var keepsQueue = true
            /// The maximum number of messages that wait for the broker's acknowledgment at the same time, 1 to 65535.
            package var window = 64
            /// The maximum size of a received packet, in bytes. The broker does not send larger ones; those of a broker
            /// that does are not accepted.
            package var maximumPacket = 1 << 20

            package init(_ broker: Broker, clientID: String) { (self.broker, self.clientID) = (broker, clientID) }
        }

        /// Where a broker is.
        package enum Broker: Sendable {
            case tcp(host: String, port: UInt16 = 1883)
            /// The path of a Unix socket.
            case unix(path: String)
        }

        package struct Credentials: Sendable {
            package var username: String
            package var password: String?

            package init(username: String, password: String? = nil) {
                self.username = username
                self.password = password
            }
        }

        /// How a connection is encrypted. All files are in PEM format and are read at each attempt to connect.
        package struct TLS: Sendable {
            /// The file with the certificates of the accepted authorities. With neither this nor ``authorityPath``,
            /// those of the system are accepted.
            package var authorityFile: String?
            /// A directory with such certificates, prepared by `openssl rehash`.
            package var authorityPath: String?
            /// The files of the client's certificate and of its key, which must not have a passphrase.
            package var certificate: (file: String, key: String)?
            /// Accepts any broker that claims to be the right one: neither its certificate nor its name is checked.
            package var isInsecureWithoutVerification = false

            package init(authorityFile: String? = nil) { self.authorityFile = authorityFile }
        }

        package struct Will: Sendable {
            /// Its ``MQTTMessage/expiry`` begins when the broker publishes it.
            package var message: MQTTMessage
            /// The time from the end of the connection to the will, in whole seconds. It is not sent if the client is
            /// back before, and not later than the session expires.
            package var delay: Duration

            package init(_ message: MQTTMessage, delay: Duration = .zero) {
                self.message = message
                self.delay = delay
            }
        }

        /// The limits for messages that wait to be sent. The oldest are dropped.
        package struct QueueLimits: Hashable, Sendable {
            package var count = 10_000
            /// The bytes of topics, payloads and properties.
            package var bytes = 16 << 20

            package init(count: Int = 10_000, bytes: Int = 16 << 20) { (self.count, self.bytes) = (count, bytes) }
        }
    }

    extension MQTTClient.Configuration {
        /// Throws `.invalidArgument` for what no broker can accept.
        func check() throws(MQTTError) {
            func require(_ condition: Bool, _ message: String) throws(MQTTError) {
                guard condition else { throw MQTTError(.invalidArgument, message) }
            }
            let seconds = Duration.zero ... .seconds(Int64(UInt32.max))
            try require(!clientID.isEmpty, "the client id is empty")
            switch broker {
            case .tcp(let host, let port):
                try require(!host.isEmpty && port > 0, "the broker's host is empty, or its port 0")
                try MQTTMessage.checkText(host)
            case .unix(let path): try require(path.utf8.count < 108, "\(path) is too long for a socket")
            }
            for text in [clientID, credentials?.username, credentials?.password].compactMap(\.self) {
                try MQTTMessage.checkText(text)
            }
            try require(
                (.seconds(5) ... .seconds(65535)).contains(keepAlive), "the keep-alive is not between 5 s and 65535 s")
            try require(seconds.contains(sessionExpiry), "the session expiry is not between 0 and 2³² − 1 s")
            try require((1...Int(UInt16.max)).contains(window), "the window is not between 1 and 65535")
            try require(
                (1024...MQTTMessage.maximumSize).contains(maximumPacket),
                "the maximum packet is not between 1 KiB and 256 MiB")
            guard let will else { return }
            try will.message.check()
            try require(seconds.contains(will.delay), "the delay of the will is not between 0 and 2³² − 1 s")
        }

    }
#endif
