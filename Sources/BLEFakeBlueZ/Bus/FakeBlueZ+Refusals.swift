import DBus
import Synchronization

/// The calls that the daemon refuses before they reach an object, in the words of libdbus and of `gdbus/object.c`.
extension FakeBlueZ {
    nonisolated var refusals: CallRefusals {
        CallRefusals { [weak self] sender in
            guard self?.denied.withLock({ $0.contains(sender) }) == true else { return nil }
            return { [weak self] call in await self?.denial(of: call) ?? .bluez("Failed", "gone") }
        } error: { reason, call, isObject in
            switch reason {
            case .interface(let name, isObject: true): .bus("InvalidArgs", "No such interface '\(name)'")
            case .property(let name, isSet: false): .bus("InvalidArgs", "No such property '\(name)'")
            case .property(let name, isSet: true): .bus("UnknownProperty", "No such property '\(name)'")
            case .readOnlyProperty(let name): .bus("PropertyReadOnly", "Property '\(name)' is not writable")
            case .method, .interface:
                .bus(
                    isObject() ? "UnknownMethod" : "UnknownObject",
                    "Method \"\(call.method)\" with signature \"\(call.signature)\" on interface "
                        + "\"\(call.interface.isEmpty ? "(null)" : call.interface)\" doesn't exist\n")
            }
        }
    }
}
