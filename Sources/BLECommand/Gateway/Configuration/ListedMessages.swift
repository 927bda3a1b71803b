import BLE
import BLEAssignedNumbers
import BLEDefinitions

#if DeviceCommands
    import BLE
    import BLEFeatures
    import Synchronization

    /// How a gateway sends messages to a listed device that has a protocol of its own; see Docs/Features.md.
    struct ListedMessages: Sendable {
        /// The protocol.
        let kind: Devices.Configuration
        /// The names of commands.
        let commands: [String: MessageCommand]
        /// The serial number under which the device's key is stored.
        let serial: String
        /// The file with pairing keys, which is that of `ble devices`. Nil if the device is not paired.
        let keys: String?
        private let open = OpenSession()

        /// Creates what the list says.
        init(kind: Devices.Configuration, commands: [String: MessageCommand], serial: String, keys: String?) {
            (self.kind, self.commands, self.serial, self.keys) = (kind, commands, serial, keys)
        }

        /// The session of the link, if one was made. It has the keys of the link, and knows which replies may be late.
        private final class OpenSession: Sendable {
            private let session = Mutex<MessageSession?>(nil)

            func get(_ peripheral: Peripheral, _ make: () -> MessageSession) async -> MessageSession {
                if let session = session.withLock({ $0 }), session.peripheral.central === peripheral.central,
                    await !session.isClosed
                {
                    return session
                }
                let made = make()
                session.withLock { $0 = made }
                return made
            }
        }

        /// Returns a command by its name, or by its number: `0201` is command 02 in namespace 01.
        func command(_ text: String) throws(BLEError) -> MessageCommand {
            if let command = commands[text] ?? Self.number(text) {
                guard command != kind.encryption?.command else {
                    throw BLEError(.invalidArgument, "\(command) exchanges keys", isRetryable: false)
                }
                return command
            }
            let meant = Suggestion.nearest(to: text, in: commands.keys.sorted())
            throw BLEError(
                .invalidArgument, "no message is named “\(text.excerpt)”", isRetryable: false,
                remedy: meant.map { "Did you mean \($0)?" })
        }

        static func number(_ text: String) -> MessageCommand? {
            guard text.utf8.count == 4, let bytes = Hex.bytes(text), bytes.count == 2 else { return nil }
            return MessageCommand(command: bytes[0], namespace: bytes[1])
        }

        /// Sends a request on a link, and returns what the result contains besides `ok` and the id. One at a time.
        ///
        /// - Parameter isEncrypted: nil for an encrypted one if there is a key.
        func send(
            _ name: String, _ payload: [UInt8], isEncrypted: Bool?, to peripheral: Peripheral
        ) async throws(BLEError) -> [String: JSON] {
            let request = Message(
                try command(name), isEncrypted: isEncrypted ?? (keys != nil), payload: payload)
            let session = await open.get(peripheral) {
                MessageSession(peripheral, kind: kind, serial: serial, storage: storage)
            }
            let reply = try await session.send(request)
            return ["payload": .hex(reply.payload), "encrypted": .bool(reply.isEncrypted)]
        }

        private var storage: any DeviceStorage {
            keys.map { FileDeviceStorage(path: $0) } ?? MemoryDeviceStorage()
        }

        /// Returns what is wrong with the file of keys.
        func mistakeInKeys() async -> String? {
            guard let keys else { return nil }
            do throws(BLEError) {
                guard try await storage.device(serial)?.key == nil else { return nil }
                return "\(keys.harmless) has no key of \(serial)"
            } catch {
                return error.message
            }
        }
    }

    extension GatewayFile {
        static func messages(_ entry: Entry) throws -> ListedMessages {
            let object = try object(entry, "messages")
            let kind: Devices.Configuration
            let described = object["protocol"] ?? Entry(.object([:]), entry.place)
            do throws(BLEError) {
                kind = try Devices.Configuration(json: described.json.text, features: DevicesCommand.features)
            } catch {
                throw described.mistake([error.message, error.remedy].compactMap(\.self).joined(separator: ". "))
            }
            var commands: [String: MessageCommand] = [:]
            for (name, entry) in try object["commands"]?.entries() ?? [] {
                guard ListedMessages.number(name) == nil else {
                    throw entry.mistake("the name is the number of a command")
                }
                guard let command = ListedMessages.number(try entry.string()) else {
                    throw entry.mistake("not a command of four digits, such as 0201")
                }
                commands[name] = command
            }
            let serial = try object["serial"].map { entry in
                guard let bytes = Hex.bytes(try entry.string()), bytes.count == 6 else {
                    throw entry.mistake("not a serial number of twelve digits")
                }
                return Hex.string(bytes)
            }
            let keys = try object["keys"].map(text)
            guard (keys == nil) == (serial == nil) else {
                throw entry.mistake("keys and serial are given together: the serial number names the key")
            }
            guard keys == nil || kind.encryption != nil else {
                throw entry.mistake("keys need an encryption in the protocol")
            }
            return ListedMessages(kind: kind, commands: commands, serial: serial ?? "000000000000", keys: keys)
        }
    }
#endif
