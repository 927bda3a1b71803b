"""Decisions by hand, each with its reason, where formats.py cannot use the supplement unchanged."""

# Units that the supplement names differently from Assigned Numbers: the name there, and the power of ten that converts
# to it.
UNIT_ALIASES = {
    "acceleration.metres_per_seconds_squared": ("acceleration.metres_per_second_squared", 0),
    "concentration.parts_per_billion": ("ppb", 0),
    "density.kilogram_per_cubic_meter": ("density.kilogram_per_cubic_metre", 0),
    "electrical_apparent_energy.kilovolt_ampere_hour": ("energy.kilovolt_ampere_hour", 0),
    "electrical_apparent_power.volt_ampere": ("power.volt_ampere", 0),
    "flow.cubic_metre_per_second": ("volume_flow.litre_per_second", 3),
    "hertz": ("frequency.hertz", 0),
    "illuminance.lumen": ("luminous_flux.lumen", 0),
    "kilogram_per_square_metre": ("surface_density.kilogram_per_square_metre", 0),
    "length.meter": ("length.metre", 0),
    "luminous_energy.lumen_per_hour": ("luminous_energy.lumen_hour", 0),
    "mass_density.kilogram_per_liter": ("mass_density.milligram_per_decilitre", 5),
    "mass_density.mole_per_litre": ("mass_density.millimole_per_litre", 3),
    "milligram_per_decilitre_per_minute": ("mass_density_rate.milligram_per_decilitre_per_minute", 0),
    "rotational_speed.revolutions_per_minute": ("angular_velocity.revolution_per_minute", 0),
    "standard_acceleration_due_to_gravity": ("power.gravity_gn", 0),
}
# Units without a number, with the text that is written for them.
UNITS_WITHOUT_NUMBER = {"kelvin_per_second": "K/s", "logarithmic_radio_quantity.decibel": "dBm"}


# Resolutions that the supplement gives twice with different values, where the numbers are right: the words name a
# smaller unit, or are rounded.
RESOLUTIONS = {
    ("acceleration", "Acceleration"),
    ("apparent_energy_32", "Apparent Energy 32"),
    ("chromaticity_coordinate", "Chromaticity Coordinate"),
    ("energy_32", "Energy 32"),
    ("rainfall", "Rainfall"),
}

ALERTS = list(enumerate([
    "Simple Alert", "Email", "News", "Call", "Missed Call", "SMS/MMS", "Voice Mail", "Schedule", "High Prioritized Alert",
    "Instant Message",
]))
TEN = ({"scale": [1, 0, 0]}, "the numbers say tens, the words ones")
# Corrections of single fields: the properties that are replaced, and the reason.
FIELDS = {
    ("activity_goal", "Distance"): TEN,
    ("blood_pressure_record", "UUID"): ({"kind": "g2"}, "the type says a number"),
    ("body_composition_measurement", "Impedance"): ({"scale": [1, -1, 0]}, "the numbers say 0.01, the words 0.1"),
    ("cosine_of_the_angle", "Cosine of the Angle"): ({"range": (-100, 100)}, "the range is that of the byte"),
    ("cross_trainer_data", "Resistance Level"): TEN,
    ("heart_rate_measurement", "Energy Expended"): (
        {"scale": [1, 3, 0]}, "kilojoules, by Heart Rate Service 1.0, section 3.1.1.3"),
    ("heart_rate_measurement", "RR-interval"): ({"scale": [1, 0, -10], "unit": "2703"}, "the resolution is in the prose only"),
    ("high_voltage", "High Voltage"): ({"scale": [1, 0, -6]}, "the numbers say 64, the words 1/64"),
    ("indoor_bike_data", "Resistance Level"): TEN,
    ("rower_data", "Resistance Level"): TEN,
    ("rsc_measurement", "Instantaneous Cadence"): ({"unit": "=1/min"}, "the unit has no number"),
    ("system_id", "EUI-64"): ({"kind": "x8"}, "an identifier, no number"),
    ("time_exponential_8", "Time Exponential 8"): ({"kind": "T"}, "the formula is in the prose only"),
    ("recipe_control", "Cooking Step Index"): ({"conditions": ["left"]}, "optional for some operations"),
    ("recipe_parameters", "Temperature Gradient"): ({"kind": "s1"}, "the type is unsigned, the range is not"),
    ("cooking_zone_perceived_power", "Cooking Zone Perceived Power"): ({"range": (0, 3550)}, "the range is that of the bytes"),
    ("cooking_step_status", "Remaining Time"): ({"unit": "2703"}, "the unit is in the prose only"),
    ("supported_new_alert_category", "Category ID Bit Mask"): ({"kind": "b0", "bits": ALERTS}, "of one byte or two"),
    ("supported_unread_alert_category", "Category ID Bit Mask"): ({"kind": "b0", "bits": ALERTS}, "of one byte or two"),
    ("supported_resistance_level_range", "Maximum Resistance Level"): TEN,
    ("supported_resistance_level_range", "Minimum Increment"): TEN,
    ("supported_resistance_level_range", "Minimum Resistance Level"): TEN,
    ("treadmill_data", "Metabolic Equivalent"): ({"scale": [1, -1, 0]}, "the resolution is missing; other machines have tenths"),
    ("volume_flow", "Volume Flow"): ({"range": (0, 65534)}, "the range is that of the bytes"),
}

# Fields that are split into several: the parts, and the reason.
VARIANTS = {
    ("elapsed_time", "Time Value"): (
        [
            {"conditions": ["0.2=0", "0.3=0"], "unit": "2703"},
            {"conditions": ["0.2=1", "0.3=0"], "unit": "2703", "scale": [1, -1, 0]},
            {"conditions": ["0.2=0", "0.3=1"], "unit": "2703", "scale": [1, -3, 0]},
            {"conditions": ["0.2=1", "0.3=1"], "unit": "2703", "scale": [1, -4, 0]},
        ],
        "the resolution depends on two bits",
    ),
    ("enhanced_intermediate_cuff_pressure", "Intermediate Cuff Pressure Value"): (
        [
            {"conditions": ["0.0=0"], "unit": "2781", "scale": [1, 0, 0]},
            {"conditions": ["0.0=1"], "unit": "2724", "scale": [1, 3, 0]},
        ],
        "the unit depends on a bit",
    ),
}
