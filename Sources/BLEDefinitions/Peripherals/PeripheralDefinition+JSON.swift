public import BLE

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

extension PeripheralDefinition {
    /// Reads a definition from JSON, in the form of `ble serve`, which `Docs/Peripherals.md` describes and
    /// `Docs/Definition.schema.json` defines.
    ///
    /// ```swift
    /// let lamp = try PeripheralDefinition(json: Data(contentsOf: URL(filePath: "lamp.json")))
    /// try await host.serve(lamp)
    /// ```
    ///
    /// Throws ``DefinitionError`` for anything that the form does not allow, unknown keys included, and
    /// `CancellationError` if the task is cancelled while it reads a long text. Whether the definition can be served is
    /// another question: see `diagnostics(limits:)`.
    public init(json: some Sequence<UInt8>) throws {
        self = try DefinitionFile(json: Data(json)).definition
    }
}
