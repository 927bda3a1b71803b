/// Something in a definition that does not work, or not as one would expect.
public struct DefinitionDiagnostic: Hashable, Sendable, CustomStringConvertible {
    /// Whether the definition cannot be served. Otherwise, it is a warning.
    public let isError: Bool
    /// What is wrong.
    public let message: String
    /// What to change.
    public let remedy: String?
    /// The service that it is about. Nil for the advertisement.
    public let service: BluetoothUUID?
    /// The characteristic that it is about.
    public let characteristic: BluetoothUUID?

    /// The message and the remedy, on one line.
    public var description: String {
        let place = [service, characteristic].compactMap { $0?.description }.joined(separator: "/")
        return "\(isError ? "error" : "warning"): \(place.isEmpty ? "" : place + ": ")\(message)"
            + (remedy.map { ". " + $0 } ?? "")
    }
}

extension PeripheralHost {
    /// Examines a definition without serving it: what the host refuses, and what works otherwise than one would expect.
    public nonisolated func diagnostics(for definition: PeripheralDefinition) -> [DefinitionDiagnostic] {
        definition.diagnostics(limits: backend.limits)
    }
}

extension PeripheralDefinition {
    /// Examines the definition for a stack with the given limits.
    public func diagnostics(limits: PeripheralLimits = PeripheralLimits()) -> [DefinitionDiagnostic] {
        var found: [DefinitionDiagnostic] = []
        do throws(BLEError) {
            try (advertising ?? AdvertisingParameters(advertisement)).validate()
        } catch {
            found.append(
                DefinitionDiagnostic(
                    isError: true, message: error.message, remedy: error.remedy, service: nil, characteristic: nil))
        }
        found += channelDiagnostics
        let handleCount = services.reduce(0) { $0 + $1.handleCount }
        guard handleCount <= Self.maximumHandleCount else {
            found.append(
                DefinitionDiagnostic(
                    isError: true,
                    message:
                        "its attributes take \(handleCount) handles, of which there are \(Self.maximumHandleCount)",
                    remedy: "Leave some out. A characteristic takes two handles, and one for each descriptor.",
                    service: nil, characteristic: nil))
            return found
        }
        if services.inclusionOrder == nil {
            found.append(
                DefinitionDiagnostic(
                    isError: true, message: "services include each other", remedy: "Leave one of the includes out.",
                    service: nil, characteristic: nil))
        }
        let types = Set(services.map(\.uuid))
        var fixed: [ClosedRange<Int>] = []
        for service in services {
            func add(_ isError: Bool, _ message: String, _ remedy: String, _ characteristic: BluetoothUUID? = nil) {
                found.append(
                    DefinitionDiagnostic(
                        isError: isError, message: message, remedy: remedy, service: service.uuid,
                        characteristic: characteristic))
            }
            if limits.reservedServices.contains(service.uuid) {
                add(true, "the system serves this service itself", "Leave it out.")
            }
            if let handles = service.handles {
                // bluetoothd assigns the handle after the last one, too.
                if handles.lowerBound < 1 || handles.upperBound > 0xFFFE {
                    add(
                        true, "its \(handles.count) handles do not fit",
                        handles.count < 0xFFFF
                            ? "Choose a handle from 1 to \(0xFFFF - handles.count)." : "Leave some out.")
                }
                if fixed.contains(where: { $0.overlaps(handles) }) {
                    add(true, "its handles overlap those of another service", "Choose another handle.")
                }
                fixed.append(handles)
            }
            for included in service.includes where !types.contains(included) {
                add(true, "it includes \(included), which the definition does not have", "Add that service.")
            }
            for characteristic in service.characteristics {
                let properties = characteristic.properties
                if characteristic.value.count > PeripheralHost.maximumLength {
                    add(
                        true, "a value of \(characteristic.value.count) bytes is too long",
                        "An attribute has at most \(PeripheralHost.maximumLength) bytes.", characteristic.uuid)
                }
                if characteristic.descriptors.contains(where: {
                    [BluetoothUUID(0x2900), BluetoothUUID(0x2902)].contains($0.uuid)
                }) {
                    add(
                        true,
                        "the client characteristic configuration and the extended properties are added automatically",
                        "Leave the descriptors 2900 and 2902 out.", characteristic.uuid)
                }
                for descriptor in characteristic.descriptors where descriptor.value.count > PeripheralHost.maximumLength
                {
                    add(
                        true, "a descriptor's value of \(descriptor.value.count) bytes is too long",
                        "An attribute has at most \(PeripheralHost.maximumLength) bytes.", characteristic.uuid)
                }
                if characteristic.security != .open, properties.contains(.writeWithoutResponse),
                    !properties.contains(.write)
                {
                    add(
                        false, "bluetoothd also allows writes with response if writes require security",
                        "Add .write, so that the definition says so.", characteristic.uuid)
                }
                if properties.isSuperset(of: [.write, .writeWithoutResponse]), characteristic.onWrite != nil {
                    add(
                        false,
                        "bluetoothd accepts a write before its handler has answered if both write types are allowed",
                        "Allow one of them if the handler rejects values.", characteristic.uuid)
                }
                if characteristic.onSubscribe != nil, properties.isDisjoint(with: [.notify, .indicate]) {
                    add(
                        true, "a characteristic with a subscription handler neither notifies nor indicates",
                        "Add .notify or .indicate.", characteristic.uuid)
                }
            }
        }
        return found
    }

    /// The handles of attributes: 0x0001 to 0xFFFF (Core Specification 5.4, volume 3, part F, section 3.2.2).
    private static let maximumHandleCount = 0xFFFF

    private var channelDiagnostics: [DefinitionDiagnostic] {
        var found: [DefinitionDiagnostic] = []
        func add(_ message: String, _ remedy: String?) {
            found.append(
                DefinitionDiagnostic(
                    isError: true, message: message, remedy: remedy, service: nil, characteristic: nil))
        }
        var seen: Set<PSM> = []
        for channel in channels {
            do throws(BLEError) { try channel.options.check(channel.psm) } catch { add(error.message, error.remedy) }
            if !seen.insert(channel.psm).inserted {
                add("several channels have the number \(channel.psm)", "Give each a number of its own.")
            }
        }
        return found
    }
}
